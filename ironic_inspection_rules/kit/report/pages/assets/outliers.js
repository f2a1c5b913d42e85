// Machines that differ from their peers: by group, beside the norm.
const STEP = 12;
const WIDE = 80;
const findings = data.findings;
const machines = data.groups.reduce((sum, group) => sum + group.machines, 0);
const oddOnes = new Set(findings.map((each) => each.machine));

function partOf(each) {
  return each.slot ? `${each.kind} ${each.slot}` : each.kind;
}

function hasText(each) {
  if (each.what !== 'missing') { return each.has; }
  return each.has === null ? 'missing' : `missing, ${each.has}`;
}

// Each machine is a square; those that are odd have a colour and a link.
function crowd(group) {
  const odd = Map.groupBy(group.findings.map((at) => findings[at]),
    (each) => each.machine);
  const wide = Math.min(WIDE, group.machines);
  const square = (at) => [STEP * (at % wide), STEP * Math.floor(at / wide)];
  const normal = [];
  for (let at = odd.size; at < group.machines; at += 1) {
    const [x, y] = square(at);
    normal.push(`M${x} ${y}h9v9h-9z`);
  }
  const links = [...odd.values()].map((found, at) => {
    const [x, y] = square(at);
    return draw('a', {href: `#machine=${encodeURIComponent(
      found[0].machine)}`}, draw('title', {}, `${found[0].name}: ${found.map(
      (each) => each.text).join('; ')}`), draw('rect', {x, y, width: 9,
      height: 9}));
  });
  const high = STEP * Math.ceil(group.machines / wide);
  return draw('svg', {class: 'crowd', viewBox: `0 0 ${STEP * WIDE} ${high}`,
    role: 'img', 'aria-label': `${odd.size} of ${group.machines} are odd`},
  links, draw('path', {class: 'normal', d: normal.join('')}));
}

function beside(at) {
  const each = findings[at];
  return make('div', {className: 'beside'},
    link('machine', each.machine, each.name),
    make('div', {}, make('span', {className: 'soft'}, `${partOf(each)} `),
      make('span', {className: 'has'}, hasText(each))),
    make('div', {className: 'norm'}, each.peers.value),
    meter(each.peers.count, each.peers.of,
      `${number.format(each.peers.count)} of ` +
      `${number.format(each.peers.of)}`));
}

function kindsOf(group) {
  if (group.kinds.length < 2) { return null; }
  const fields = group.kinds[0].differs.map(([field]) => field);
  return make('table', {className: 'kinds', aria: {label: 'Kinds'}},
    make('thead', {}, make('tr', {}, make('th', {}, 'Kinds differ in'),
      group.kinds.map((kind) => make('th', {scope: 'col'},
        many(kind.machines, 'machine', 'machines'))))),
    make('tbody', {}, fields.map((field, at) => make('tr', {},
      make('th', {scope: 'row'}, field), group.kinds.map((kind) =>
        make('td', {}, kind.differs[at][1]))))));
}

function groupOf(group) {
  const odd = new Set(group.findings.map((at) => findings[at].machine)).size;
  return make('article', {className: 'keep item'}, make('h3', {},
    link('group', group.label, group.label), ' ', make('span', {
      className: `tag ${odd ? 'bad' : 'good'}`}, odd ?
      `${number.format(odd)} of ${number.format(group.machines)} odd` :
      many(group.machines, 'machine, alike', 'machines, alike'))),
  crowd(group), odd ? make('div', {}, make('div', {className: 'beside head'},
    make('span', {}, 'Machine'), make('span', {}, 'Has'),
    make('span', {}, 'Its peers have'), make('span', {}, 'How many')),
  some(group.findings, 20, beside, make('div', {}))) : null,
  kindsOf(group));
}

const table = new Table({label: 'Findings', rows: findings,
  detail: (each) => make('div', {className: 'opened'},
    make('p', {className: 'say bad'}, each.text),
    block('Group', make('p', {}, each.group)),
    block('Where it stands', make('code', {}, each.field)),
    block('File', make('code', {}, each.machine))),
  columns: [
    {title: 'Machine', width: '9rem', sort: (each) => each.name,
      cell: (each) => each.name},
    {title: 'Part', look: 'wide', width: '12rem', sort: partOf,
      cell: partOf},
    {title: 'What is odd', sort: (each) => each.text,
      cell: (each) => each.text},
    {title: 'How odd', look: 'number wide', width: '6rem',
      first: 'descending', sort: (each) => each.odd, cell: (each) => each.odd.toFixed(1)}]});
const finder = new Finder({id: 'findings', table, rows: findings,
  one: 'finding', more: 'findings',
  text: (each) => [each.machine, partOf(each), each.text, each.group]
    .join(' '),
  choices: {
    machine: (value) => [`of ${value}`, (each) => each.machine === value],
    group: (value) => [`in ${value}`, (each) => each.group === value],
    kind: (value) => [`of kind ${value}`, (each) => each.kind === value],
  }});
const kinds = [...Map.groupBy(findings, (each) => each.kind)].sort(
  ([, a], [, b]) => b.length - a.length);
const few = data.skipped.reduce((sum, each) => sum + each.machines.length, 0);
const sections = [];
const parts = [
  make('div', {className: 'title'}, make('h1', {},
    `${oddOnes.size ? number.format(oddOnes.size) : 'None'} of ` +
    `${many(machines, 'machine', 'machines')} ` +
    `${oddOnes.size === 1 ? 'is' : 'are'} unlike ` +
    `${oddOnes.size === 1 ? 'its' : 'their'} peers.`),
  make('p', {className: 'soft'}, data.made)),
  make('div', {className: 'tiles'},
    tile(machines - oddOnes.size, ['is like its peers',
      'are like their peers'], 'good'),
    tile(oddOnes.size, ['is odd', 'are odd'], 'bad',
      findings.length ? '#findings' : null),
    tile(data.groups.length, ['group of peers', 'groups of peers'], '',
      data.groups.length ? '#groups' : null),
    tile(few, ['has too few peers', 'have too few peers'], 'warn',
      few ? '#few' : null)),
  kinds.length ? make('div', {className: 'chips'}, kinds.map(
    ([kind, found]) => make('a', {className: 'chip', href: `#kind=${kind}`},
      `${kind} ${number.format(found.length)}`))) : null].filter(Boolean);
if (data.groups.length) {
  sections.push(['groups', 'Groups']);
  parts.push(card('groups', 'Groups of peers', 'Each square is a machine.',
    some(data.groups, 12, groupOf, make('div', {className: 'items'}))));
}
if (findings.length) {
  sections.push(['findings', 'Findings']);
  parts.push(card('findings', 'Findings', 'The oddest first.',
    finder.element));
}
if (few) {
  sections.push(['few', 'Not compared']);
  parts.push(card('few', 'Not compared', 'Too few machines are like these.',
    some(data.skipped, 50, (each) => make('li', {}, `${each.label}: `,
      make('span', {className: 'soft'}, each.machines.join(', '))),
    make('ul', {className: 'plain'}))));
}
show(sections, ...parts);
if (findings.length) {
  finder.find();
  const follow = () => finder.follow(place());
  addEventListener('hashchange', follow);
  follow();
}
