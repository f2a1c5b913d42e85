// Machines beside the rows of a table, by rack.
const STATES = {
  missing: ['Missing', 'rows that no machine has'],
  unexpected: ['Unexpected', 'machines that no row names'],
  wrong: ['Wrong', 'machines that are not as expected'],
  twice: ['Twice', 'machines of one key'],
  right: ['Right', 'machines as expected'],
};
const LOOKS = {missing: 'bad', unexpected: 'bad', wrong: 'warn',
  twice: 'warn', right: 'good'};

function text(value) {
  if (value === null) { return 'nothing'; }
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function title(machine) {
  return machine.key || machine.name || 'no serial number';
}

function square(machine) {
  return make('span', {className: `square ${machine.state}`,
    title: `${title(machine)}: ${machine.state}`});
}

function row(machine) {
  return make('li', {className: machine.state},
    make('b', {}, title(machine)),
    make('span', {className: 'state'}, machine.state),
    make('span', {className: 'soft'}, machine.name || ''),
    make('ul', {}, machine.differences.map((each) => make('li', {},
      `${each.column}: expected ${text(each.expected)}, ` +
      `found ${text(each.found)}`))));
}

function group(each) {
  const odd = each.machines.filter((one) => one.state !== 'right');
  const list = make('ul', {className: 'machines'});
  some(odd, 50, row, list);
  return make('article', {className: 'group'},
    make('h3', {}, each.label || (data.by ? `no ${data.by}` : 'All')),
    make('p', {className: 'soft'}, odd.length ?
      `${number.format(odd.length)} of ` +
      `${many(each.machines.length, 'entry', 'entries')} not right` :
      `${many(each.machines.length, 'machine', 'machines')}, all right`),
    make('div', {className: 'rack', aria: {role: 'img',
      label: `${odd.length} of ${each.machines.length} are not right`}},
    each.machines.map(square)), list);
}

const oddFirst = [...data.groups].sort((one, other) => {
  const odd = (each) => each.machines.filter(
    (machine) => machine.state !== 'right').length;
  return odd(other) - odd(one) || collator.compare(one.label, other.label);
});
const groups = make('div', {className: 'groups'});
some(oddFirst, 100, group, groups);
show([['numbers', 'Numbers'], ['machines', 'Machines']],
  make('h1', {}, `Table ${data.table}`),
  make('p', {className: 'soft'}, data.made),
  card('numbers', 'Numbers', null, make('div', {className: 'tiles'},
    Object.entries(STATES).map(([state, [label]]) => tile(
      data.counts[state], label, LOOKS[state])))),
  card('machines', data.by ? `By ${data.by}` : 'Machines',
    'Those with most that is not right come first.', groups));
