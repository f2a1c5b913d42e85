// The machines that links of the page choose.
const choices = {
  state: (value) => Object.hasOwn(states, value) && [
    `“${states[value][0]}”`, (node) => node.state === value],
  show: (value) => ({
    changed: ['with changes', (node) => node.changed],
    risk: ['with an instance at risk', (node) => node.risk],
    failed: ['that fail', (node) => node.result === 'failed'],
    error: ['with a rule error', (node) => node.result === 'error'],
    untried: ['that could not be tried',
      (node) => node.result === 'untried'],
    unmatched: ['that no rule matches', isUnmatched],
  })[value],
  matches: (uuid) => {
    const rule = rules.find((known) => known.uuid === uuid);
    return rule && [`that “${rule.title}” matches`,
      (node) => node.matches.includes(rule.at)];
  },
  difference: (at) => differences[at - 1] && [`with difference ${at}`,
    (node) => node.difference === differences[at - 1]],
  message: (text) => [`with “${text}”`,
    (node) => node.error !== null && withoutNumbers(node.error) === text],
  field: (name) => [`where ${name} changes`, (node) =>
    node.outcome.changes.some(
      ({object, path}) => `${kind(object)} ${path}` === name)],
  losing: (names) => [`at risk, that lose ${names || 'no trait'}`, (node) =>
    node.risk && lost(node) === names],
  flavor: (at) => flavors[at - 1] && [`that ${flavors[at - 1].name} loses`,
    (node) => flavors[at - 1].machines.has(node)],
  gained: (name) => [`that gain ${name}`,
    (node) => node.outcome.gains.has(name)],
  lost: (name) => [`that lose ${name}`,
    (node) => node.outcome.loses.has(name)],
  trait: (name) => [`with ${name} before or after`, (node) =>
    node.outcome.gains.has(name) || hadBefore(node, name)],
  flow: (places) => {
    const sides = [side('before'), side('after')];
    const [before, after] = places.split('-').map(
      (at, index) => sides[index]?.list[at]?.[0]);
    return before !== undefined && after !== undefined && [
      `of class ${className(before)} → ${className(after)}`,
      (node) => sides[0].of(node.before) === before &&
        sides[1].of(node.after) === after];
  },
};
const machineFinder = new Finder({id: 'machines', table: machineTable,
  rows: nodes, one: 'machine', more: 'machines',
  named: ['machine', (node) => node.uuid],
  choose: (key, value) => Object.hasOwn(choices, key) && choices[key](value),
  text: (node) => [node.name, node.uuid, node.error, node.before, node.after,
    states[node.state][0]].join(' ')});
const ruleFinder = new Finder({id: 'rules', table: ruleTable, rows: rules,
  one: 'rule', more: 'rules', named: ['rule', (rule) => rule.uuid],
  text: (rule) => `${rule.title} ${rule.uuid} ${rule.phase} ${rule.mode}`});

function isUnmatched(node) {
  return node.result !== 'untried' && !node.matched.length;
}

function lost(node) {
  return [...node.outcome.loses].sort().join(', ');
}
