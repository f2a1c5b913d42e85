// Rules and machines to search and sort, with links between them.
function stateTag(state) {
  const [word, look] = states[state];
  return make('span', {className: `tag ${look}`}, word);
}

// Lines of a diff, all changes of an object under its name.
function underObjects(pairs) {
  return diffOf([...Map.groupBy(pairs, ([object]) => object)].flatMap(
    ([object, list]) => [object, ...list.map(([, line]) => line)]));
}

function inForceNote(node) {
  if (!node.changed || !data.compared || !node.was) { return null; }
  if (node.was === 'ok' && !node.error) { return null; }
  return make('p', {className: 'soft'}, 'Under the rules in force: ',
    node.was === 'ok' ? 'inspection succeeds.' : node.wasError);
}

function riskNote(node) {
  if (!node.risk) { return null; }
  const names = [...node.outcome.loses].join(', ');
  return make('p', {className: 'say warn'},
    'Its instance would no longer validate.',
    names ? ` Lost: ${names}` : '');
}

function nothingNote(words = 'none') {
  return make('p', {className: 'soft'}, words);
}

function sameDifferenceLink({difference}) {
  if (!difference || difference.nodes.length < 2) { return null; }
  return make('p', {className: 'after'}, link('difference',
    difference.at + 1, 'Same for ' + many(difference.nodes.length - 1,
      'other machine', 'other machines')));
}

function changesOf({changed, outcome}) {
  if (!outcome.changes.length) {
    return nothingNote(leftOut || changed ?
      'none but what sensitive rules may set' : 'none');
  }
  return underObjects(outcome.changes.map(
    (change) => [change.object, lineOf(change, true)]));
}

function rulesOf({matches}) {
  if (!matches.length) { return nothingNote(); }
  return make('ul', {className: 'plain'}, matches.map((at) => make('li', {},
    link('rule', rules[at].uuid, rules[at].title))));
}

function machineDetail(node) {
  return make('div', {className: 'opened'},
    make('p', {}, node.name, make('span', {className: 'mono soft'},
      node.uuid === node.name ? '' : ` ${node.uuid}`)),
    node.error ? make('p', {className: `say ${states[node.state][1]}`},
      node.error) : null,
    inForceNote(node), riskNote(node),
    make('div', {className: 'columns'},
      block(data.compared ? 'Different from the rules in force' : 'Changes',
        changesOf(node), sameDifferenceLink(node)),
      block('Rules that match', rulesOf(node))));
}

function traitCountsOf({outcome: {gains, loses}}) {
  return make('span', {},
    gains.size ? make('span', {className: 'gain'}, `+${gains.size} `) : null,
    loses.size ? make('span', {className: 'loss'}, `−${loses.size}`) : null);
}

function classText({before, after}) {
  return before === after ? after || '–' :
    `${before || '–'} → ${after || '–'}`;
}

const machineTable = new Table({
  label: 'Machines', rows: nodes, detail: machineDetail, columns: [
    {title: 'Machine', sort: (node) => node.name, cell: (node) => node.name},
    {title: 'Result', width: '8rem', cell: (node) => stateTag(node.state),
      sort: (node) => Object.keys(states).indexOf(node.state)},
    {title: 'Rules', look: 'number wide', width: '4.8rem',
      first: 'descending', sort: (node) => node.matches.length,
      cell: (node) => String(node.matches.length)},
    {title: 'Changes', look: 'number wide', width: '6.2rem',
      first: 'descending', sort: (node) => node.outcome.changes.length,
      cell: (node) => String(node.outcome.changes.length)},
    {title: 'Traits', look: 'wide', width: '7.5rem', first: 'descending',
      sort: (node) => node.outcome.gains.size + node.outcome.loses.size,
      cell: traitCountsOf},
    {title: 'Resource class', look: 'wide', width: '17rem',
      sort: (node) => node.after || '',
      cell: classText}]});

function ruleDetail(rule) {
  return make('div', {className: 'opened'},
    make('p', {}, rule.title),
    make('p', {className: 'mono soft'}, rule.uuid),
    make('p', {className: 'soft'}, [rule.phase && `phase ${rule.phase}`,
      rule.priority !== undefined && `priority ${rule.priority}`,
      rule.mode && `mode ${rule.mode}`].filter(Boolean).join(', ')),
    make('p', {}, rule.machines ? link('matches', rule.uuid,
      `Show the ${many(rule.machines, 'machine', 'machines')} it matches`) :
      'It matches no machine.'));
}

function machinesOfRule(rule) {
  if (!rule.machines) {
    return make('span', {className: 'tag'}, 'no machine');
  }
  return make('a', {href: address('matches', rule.uuid),
    className: 'meterlink', aria: {label: many(rule.machines, 'machine',
      'machines')}}, meter(rule.machines, nodes.length));
}

const ruleTable = new Table({
  label: 'Rules', rows: rules, detail: ruleDetail, columns: [
    {title: 'Rule', sort: (rule) => rule.title, cell: (rule) => rule.title},
    {title: 'Phase', look: 'wide', width: '7.5rem',
      sort: (rule) => rule.phase || '', cell: (rule) => rule.phase || '–'},
    {title: 'Priority', look: 'number wide', width: '6rem',
      first: 'descending', sort: (rule) => rule.priority || 0,
      cell: (rule) => String(rule.priority ?? '–')},
    {title: 'Mode', look: 'wide', width: '6rem',
      sort: (rule) => rule.mode || '', cell: (rule) => rule.mode || '–'},
    {title: 'Machines', width: 'min(34%, 15rem)', first: 'descending',
      sort: (rule) => rule.machines,
      cell: machinesOfRule}]});
