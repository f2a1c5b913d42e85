// How many machines can take each flavor, before and after.
const flavors = (data.capacity || []).map((flavor, at) => ({...flavor, at,
  machines: new Set(flavor.lost.map(([node]) => nodes[node]))}));

function flavorCounts({before, after}) {
  const one = (use, word) => `${number.format(before[use])}` +
    (before[use] === after[use] ? '' : ` → ${number.format(after[use])}`) +
    ` ${word}`;
  return `${one('free', 'free')} · ${one('in_use', 'in use')}`;
}

// A line for each set of rules that loses machines.
function flavorLosses({lost}) {
  return largestFirst(tally(lost.map(([, by]) => by.join(' ')))).map(
    ([by, size]) => make('p',
    {className: 'soft values'}, `${number.format(size)} lost by `,
    by ? by.split(' ').flatMap((rule, index) => [index ? ', ' : '',
      link('rule', rules[rule].uuid, rules[rule].title)]) :
      'a failure of no rule'));
}

function flavorRow(flavor, most) {
  const {before, gained, lost} = flavor;
  const piece = (className, value) => share(className, value, most);
  return make('div', {className: 'trait flavor'},
    make('div', {}, make('code', {}, flavor.name),
      make('span', {className: 'counts'}, flavorCounts(flavor), ' ',
        lost.length ? link('flavor', flavor.at + 1, make('span',
          {className: 'loss'}, `−${number.format(lost.length)}`)) : null,
        ' ', gained ? make('span', {className: 'gain'},
          `+${number.format(gained)}`) : null)),
    make('div', {className: 'rail', aria: {hidden: 'true'}},
      piece('stay', before.free + before.in_use - lost.length),
      piece('lose', lost.length), piece('gain', gained)),
    flavorLosses(flavor),
    flavor.problem ? make('p', {className: 'soft values'},
      `No machine can take it: ${flavor.problem}`) : null);
}

function capacityCard() {
  if (!flavors.length) { return null; }
  const size = ({before, gained}) => before.free + before.in_use + gained;
  const most = Math.max(1, ...flavors.map(size));
  const losing = flavors.filter((flavor) => flavor.loss);
  const words = losing.length ?
    `${many(losing.length, 'flavor loses', 'flavors lose')} machines` :
    'No flavor loses machines on balance';
  const sorted = [...flavors].sort((one, other) =>
    other.loss - one.loss || size(other) - size(one));
  return {kind: 'card', id: 'capacity', menu: 'Capacity',
    title: 'Capacity of flavors', about: `${words}: those that can take ` +
      'it, as they are now and as the rules would leave them.',
    parts: [some(sorted, 8, (flavor) => flavorRow(flavor, most),
      make('div', {className: 'traits'}))]};
}
