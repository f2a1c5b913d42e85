// The data of the page with objects in place of numbers, and what follows
// from them for every machine.
const texts = data.texts;
const rules = data.rules.map((rule, at) => ({...rule, at, machines: 0,
  title: rule.description || rule.uuid}));
const textOf = (at) => at < 0 ? null : texts[at];
const changes = data.changes.map(([object, op, path, value, before]) => ({
  object: texts[object], op: texts[op], path: texts[path],
  value: textOf(value), before: textOf(before)}));
const traitsOf = data.traits.map(
  (set) => new Set(set.map((name) => texts[name])));
// Whether changes are left out: those of sensitive rules are never there.
// A comparison says of each machine whether it differs, by these as well.
const leftOut = !data.compared && rules.some((rule) => rule.sensitive);
const states = {
  error: ['Rule error', 'bad'], failed: ['Fails', 'bad'],
  risk: ['At risk', 'warn'], changed: ['Changes', 'good'],
  same: [leftOut ? 'No change shown' : 'Unchanged', ''],
  untried: ['Not tried', '']};

function traitName(path) {
  return path.slice(1).replaceAll('~1', '/').replaceAll('~0', '~');
}

function kind(object) {
  return object.startsWith('port ') ? 'port' : object;
}

// What becomes of a machine: its changes; traits that it gains and loses, of
// which a later change may take one back; its class before and after.
const outcomes = data.outcomes.map((list) => {
  const made = {changes: list.map((at) => changes[at]),
    gains: new Set(), loses: new Set(), classes: null};
  for (const {object, op, path, value, before} of made.changes) {
    if (object === 'traits') {
      const name = traitName(path);
      (op === 'remove' ? made.gains : made.loses).delete(name);
      (op === 'remove' ? made.loses : made.gains).add(name);
    } else if (object === 'node' && path === '/resource_class') {
      made.classes = [made.classes ? made.classes[0] : before, value];
    }
  }
  return made;
});

// What is compared with is what the rules in force leave: that is what a
// change was made from, and else what the node has.
function classesOf({classes}, now) {
  const read = (text) => text === null ? null : JSON.parse(text);
  if (!classes) { return [now, now]; }
  return [data.compared ? read(classes[0]) : now, read(classes[1])];
}

function hadBefore(node, name) {
  const {gains, loses} = node.outcome;
  return data.compared ? loses.has(name) || node.traits.has(name) &&
    !gains.has(name) : node.traits.has(name);
}

const nodes = data.nodes.map(([uuid, name, result, error, matches, audits,
  outcome, differs, risk, was, wasError, traits, resourceClass]) => {
  const made = {uuid, name: name || uuid, result, error: textOf(error),
    matched: data.matches[matches],
    matches: [...data.matches[matches], ...data.matches[audits]],
    outcome: outcomes[outcome], risk: risk === 1,
    changed: result !== 'untried' && (data.compared ? differs === 1 :
      data.outcomes[outcome].length > 0),
    was, wasError: textOf(wasError), traits: traitsOf[traits],
    signature: `${matches} ${audits}`};
  [made.before, made.after] = classesOf(made.outcome,
    textOf(resourceClass));
  made.state = result !== 'ok' ? result : made.risk ? 'risk' :
    made.changed ? 'changed' : 'same';
  made.matches.forEach((at) => { rules[at].machines += 1; });
  return made;
});

function count(test) {
  return nodes.reduce((sum, node) => sum + (test(node) ? 1 : 0), 0);
}

// Entries of a map of numbers, the largest first.
function largestFirst(counts) {
  return [...counts].sort(([, one], [, other]) => other - one);
}

// Entries of a map of lists, the longest first.
function longestFirst(groups) {
  return [...groups].sort(
    ([, one], [, other]) => other.length - one.length);
}

function tally(values) {
  const counts = new Map();
  for (const value of values) {
    counts.set(value, (counts.get(value) || 0) + 1);
  }
  return counts;
}

// Places with more than 20 different values. There a difference leaves the
// value out, so that machines with values of their own can have the same one.
const varying = (() => {
  const places = new Map();
  for (const outcome of new Set(nodes.map((node) => node.outcome))) {
    for (const {object, path, value} of outcome.changes) {
      if (object === 'traits' || value === null) { continue; }
      const at = `${kind(object)} ${path}`;
      if (!places.has(at)) { places.set(at, new Set()); }
      places.get(at).add(value);
    }
  }
  const found = new Set();
  for (const [at, values] of places) {
    if (values.size > 20) { found.add(at); }
  }
  return found;
})();

// A change as a line of a diff; whole: with a value that varies, too.
function lineOf({object, op, path, value, before}, whole) {
  const sign = {add: '+', remove: '−'}[op] || '~';
  if (object === 'traits') { return `${sign} ${traitName(path)}`; }
  const shown = !whole && varying.has(`${kind(object)} ${path}`) ? ['…'] :
    [before === 'null' ? null : before, value].filter(
      (text) => text !== null);
  return `${sign} ${path}${shown.length ? `: ${shown.join(' → ')}` : ''}`;
}

// What changes, with its machines, those of most machines first. The changes
// of several ports are one, whatever their addresses.
const differences = (() => {
  const shapes = new Map();
  const found = new Map();
  for (const node of nodes) {
    if (!node.changed || !node.outcome.changes.length) { continue; }
    if (!shapes.has(node.outcome)) {
      const lines = node.outcome.changes.map(
        (change) => `${kind(change.object)}\n${lineOf(change)}`);
      shapes.set(node.outcome, [...new Set(lines)]);
    }
    const lines = shapes.get(node.outcome);
    const key = lines.join('\n');
    if (!found.has(key)) { found.set(key, {lines, nodes: []}); }
    const difference = found.get(key);
    difference.nodes.push(node);
    node.difference = difference;
  }
  const sorted = [...found.values()].sort(
    (one, other) => other.nodes.length - one.nodes.length);
  sorted.forEach((difference, at) => { difference.at = at; });
  return sorted;
})();
