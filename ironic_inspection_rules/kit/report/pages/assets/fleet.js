// The report of a fleet, from what matters to what is all there.
function headline() {
  const changed = count((node) => node.changed);
  if (!nodes.length) { return 'There is no machine.'; }
  if (changed) {
    return `${number.format(changed)} of ` +
      `${many(nodes.length, 'machine', 'machines')} ` +
      (data.compared ? 'would come out differently.' : 'would change.');
  }
  if (data.compared) {
    return 'Every machine comes out as with the rules in force.';
  }
  const failing = count(
    (node) => ['failed', 'error'].includes(node.result));
  const nothing = leftOut ? 'No change is shown' : 'Nothing would change';
  if (failing) {
    return `${nothing}, but ` + many(failing, 'inspection would fail.',
      'inspections would fail.');
  }
  return leftOut ? 'No change is shown of any machine; what sensitive rules ' +
    'change is withheld.' : 'Nothing changes on any machine.';
}

function tileOf(name, words, look) {
  const [, fits] = choices.show(name);
  return tile(count(fits), words, look, address('show', name));
}

function tiles() {
  const newly = data.compared ? count(
    (node) => node.result === 'failed' && isNew(node)) : 0;
  const fresh = newly ? `; ${number.format(newly)} newly` : '';
  const changes = data.compared ? ['machine differs', 'machines differ'] :
    ['machine changes', 'machines change'];
  const untried = count((node) => node.result === 'untried');
  return make('div', {className: 'tiles'},
    tileOf('changed', changes, 'accent'),
    tileOf('risk', ['instance at risk', 'instances at risk'], 'warn'),
    tileOf('error', ['with a rule error', 'with a rule error'], 'bad'),
    tileOf('failed', [`inspection fails${fresh}`,
      `inspections fail${fresh}`], 'bad'),
    tileOf('unmatched', ['no rule matches', 'no rule matches'], ''),
    untried ? tileOf('untried', ['could not be tried',
      'could not be tried'], '') : null);
}

function about() {
  const made = new Date(data.made).toLocaleString('en-GB',
    {dateStyle: 'long', timeStyle: 'short'});
  return [data.title, made, many(nodes.length, 'machine', 'machines'),
    many(rules.length, 'rule', 'rules')].join(' · ');
}

function filterChips() {
  const filters = Object.entries(data.filters || {});
  if (!filters.length) { return null; }
  return make('div', {className: 'chips'}, filters.map(([name, value]) =>
    make('span', {className: 'chip'},
      make('span', {className: 'soft'}, name),
      typeof value === 'string' ? value : JSON.stringify(value))));
}

function comparedCards() {
  const anyTrait = nodes.some((node) => node.traits.size ||
    node.outcome.gains.size);
  const anyClass = nodes.some((node) => node.before || node.after);
  if (!anyTrait && !anyClass) { return null; }
  return {kind: 'pair', look: '', parts: [
    anyTrait ? traitPicture() : null,
    anyClass ? classPicture() : null]};
}

drawPage({headline: headline(), about: about(), parts: [
  filterChips(),
  tiles(),
  nodes.length ? resultBar() : null,
  mattersCard(),
  capacityCard(),
  changesCard(),
  comparedCards(),
  nodes.length && rules.length ? mapCard() : null,
  {kind: 'card', id: 'rules', menu: 'Rules', title: 'Rules',
    about: 'In the order they run in.', parts: [ruleFinder.element]},
  {kind: 'card', id: 'machines', menu: 'Machines', title: 'Machines',
    about: '', parts: [machineFinder.element]},
]});
