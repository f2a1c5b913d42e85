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

function machineDetail(node) {
  const parts = [make('p', {}, node.name, make('span',
    {className: 'mono soft'}, node.uuid === node.name ? '' :
      ` ${node.uuid}`))];
  if (node.error) {
    parts.push(make('p', {className: `say ${states[node.state][1]}`},
      node.error));
  }
  if (node.changed && data.compared && node.was &&
      (node.was !== 'ok' || node.error)) {
    parts.push(make('p', {className: 'soft'}, 'Under the rules in force: ' +
      (node.was === 'ok' ? 'inspection succeeds.' : node.wasError)));
  }
  if (node.risk) {
    parts.push(make('p', {className: 'say bad'},
      'Its instance would no longer validate.' +
      (node.outcome.loses.size ? ' Lost: ' +
        [...node.outcome.loses].join(', ') : '')));
  }
  parts.push(make('div', {className: 'columns'},
    block(data.compared ? 'Different from the rules in force' : 'Changes',
      node.outcome.changes.length ? underObjects(node.outcome.changes.map(
        (change) => [change.object, lineOf(change, true)])) :
        make('p', {className: 'soft'}, 'none'),
      node.difference && node.difference.nodes.length > 1 ?
        make('p', {className: 'below'}, link('difference',
          node.difference.at + 1, 'Same for ' + many(
            node.difference.nodes.length - 1, 'other machine',
            'other machines'))) : null),
    block('Rules that match', node.matches.length ? make('ul',
      {className: 'plain'}, node.matches.map((at) => make('li', {},
        link('rule', rules[at].uuid, rules[at].title)))) :
      make('p', {className: 'soft'}, 'none'))));
  return make('div', {className: 'opened'}, ...parts);
}

const machines = new Table({
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
      cell: (node) => make('span', {}, node.outcome.gains.size ?
        make('span', {className: 'gain'}, `+${node.outcome.gains.size} `) :
        null, node.outcome.loses.size ? make('span', {className: 'loss'},
        `−${node.outcome.loses.size}`) : null)},
    {title: 'Resource class', look: 'wide', width: '17rem',
      sort: (node) => node.after || '',
      cell: (node) => node.after === node.before ? node.after || '–' :
        `${node.before || '–'} → ${node.after || '–'}`}]});

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
      cell: (rule) => rule.machines ? make('a', {
        href: `#matches=${encodeURIComponent(rule.uuid)}`,
        className: 'meterlink', aria: {label: `${rule.machines} machines`}},
      meter(rule.machines, nodes.length)) : make('span',
        {className: 'tag'}, 'no machine')}]});

