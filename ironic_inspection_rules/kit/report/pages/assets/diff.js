// What a change of rules changes, on paper and on machines.
const changeWords = {added: ['Added', 'good'], removed: ['Removed', 'bad'],
  changed: ['Changed', 'warn'], moved: ['Moved', ''], renamed: ['Only renamed', ''],
  rewritten: ['Written otherwise, same meaning', '']};
const changed = data.rules.filter(
  (rule) => !['renamed', 'rewritten'].includes(rule.change));
const machines = data.machines.map(([name, differs, lines, before, after]) =>
  ({name, differs, lines: data.lines[lines], group: lines, before, after}));
const differing = machines.filter((each) => each.differs);
const groups = [...Map.groupBy(differing, ({group, before, after}) =>
  `${group} ${before} ${after}`).values()].sort(
  (a, b) => b.length - a.length);

function resultText(machine) {
  return machine.before === machine.after ? String(machine.after) :
    `${machine.before} → ${machine.after}`;
}

function resultTag(machine) {
  const look = machine.before === machine.after ? '' :
    machine.after === 'ok' ? 'good' : 'bad';
  return make('span', {className: `tag ${look}`}, resultText(machine));
}

const table = new Table({label: 'Machines', rows: machines,
  detail: (machine) => make('div', {className: 'opened'},
    make('p', {className: 'mono soft'}, machine.name),
    machine.lines.length ? diffOf(machine.lines) : make('p', {},
      'Treated as before.')),
  columns: [
    {title: 'Machine', sort: (machine) => machine.name,
      cell: (machine) => machine.name},
    {title: 'Result', width: '9rem', sort: resultText, cell: resultTag},
    {title: 'Treated', look: 'wide', width: '8rem', first: 'descending',
      sort: (machine) => Number(machine.differs),
      cell: (machine) => machine.differs ? make('span',
        {className: 'tag warn'}, 'differently') : make('span',
        {className: 'soft'}, 'as before')}]});
const finder = new Finder({id: 'machines', table, rows: machines,
  one: 'machine', more: 'machines',
  text: (machine) => `${machine.name} ${resultText(machine)} ` +
    machine.lines.join(' '),
  choices: {
    show: (value) => ({
      differing: ['treated differently', (machine) => machine.differs],
      worse: ['that succeeded and would not', isWorse],
    })[value],
    difference: (at) => groups[at - 1] && [`with difference ${at}`,
      (machine) => groups[at - 1].includes(machine)],
  }});

function isWorse(machine) {
  return machine.before === 'ok' && machine.after !== 'ok';
}

function headline() {
  const rules = changed.length ? many(changed.length,
    'rule differs', 'rules differ') : 'No rule differs';
  if (!machines.length) { return `${rules}.`; }
  return `${rules}; ${differing.length ? number.format(differing.length) :
    'none'} of ${many(machines.length, 'machine', 'machines')} ` +
    `${differing.length === 1 ? 'is' : 'are'} treated differently.`;
}

function ruleChange(rule) {
  const [word, look] = changeWords[rule.change];
  return make('article', {className: 'keep item'}, make('h3', {},
    make('span', {className: `tag ${look}`}, word), ' ', rule.title),
  rule.lines.length ? diffOf(rule.lines) : make('p', {className: 'soft'},
    'Runs at another time.'));
}

function groupOf(group) {
  const at = groups.indexOf(group) + 1;
  return make('article', {className: 'keep item'}, make('h3', {},
    link('difference', at, many(group.length, 'machine', 'machines')), ' ',
    group[0].before === group[0].after ? null : resultTag(group[0])),
  make('p', {className: 'soft'}, group.slice(0, 3).map(
    (each) => each.name).join(', '), group.length > 3 ? ' …' : ''),
  diffOf(group[0].lines));
}

function changesOf(name) {
  return data.rules.filter((rule) => rule.change === name).length;
}

const parts = [
  make('div', {className: 'title'}, make('h1', {}, headline()),
    make('p', {className: 'soft'}, `${data.old.join(', ')} → ` +
      `${data.new.join(', ')}, ${data.made}`)),
  make('div', {className: 'tiles'},
    tile(changesOf('added'), ['rule added', 'rules added'], 'good', null),
    tile(changesOf('removed'), ['rule removed', 'rules removed'], 'bad', null),
    tile(changesOf('changed'), ['rule changed', 'rules changed'], 'warn', null),
    tile(changesOf('moved'), ['rule moved', 'rules moved'], '', null),
    ...(changed.length < data.rules.length ? [tile(
      data.rules.length - changed.length, 'only written otherwise', '',
      null)] : []),
    ...(machines.length ? [
      tile(differing.length, ['machine differs', 'machines differ'], 'accent',
        differing.length ? '#show=differing' : null),
      tile(machines.filter(isWorse).length, 'no longer succeed', 'bad',
        machines.some(isWorse) ? '#show=worse' : null)] : []))];
const sections = [];
if (data.rules.length) {
  sections.push(['rules', 'Rules']);
  parts.push(card('rules', 'Rules', 'From old to new.',
    some(data.rules, 50, ruleChange, make('div', {className: 'items'}))));
}
if (groups.length) {
  sections.push(['differences', 'Differences']);
  parts.push(card('differences', 'What machines get otherwise',
    'Equal differences are one.',
    some(groups, 12, groupOf, make('div', {className: 'items'}))));
}
if (machines.length) {
  sections.push(['machines', 'Machines']);
  parts.push(card('machines', 'Machines', null, finder.element));
}
show(sections, ...parts);
if (machines.length) {
  finder.find();
  const follow = () => finder.follow(place());
  addEventListener('hashchange', follow);
  follow();
}
