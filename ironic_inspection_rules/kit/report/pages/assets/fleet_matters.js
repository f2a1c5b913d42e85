// What somebody has to look at, and what changes, equal things as one.
const NUMBER = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d+/g;

// The same text for errors that differ in numbers only. A UUID stays: it is
// the name of a rule or a node.
function withoutNumbers(text) {
  return text.replace(NUMBER, (found) => found.length === 36 ? found : '…');
}

function matter(look, size, title, about, href) {
  return make('li', {className: `matter ${look}`}, make('a', {href},
    make('b', {}, number.format(size)), make('span', {}, title,
      about ? make('small', {}, about) : null)));
}

const why = {error: 'a rule has an error', failed: 'inspection fails',
  untried: 'could not be tried'};

// A line for all machines of a result whose errors differ in numbers only.
function messages(result, look) {
  const groups = Map.groupBy(nodes.filter((node) => node.result === result &&
    node.error), (node) => withoutNumbers(node.error));
  return longestFirst(groups).map(([text, group]) => {
    const {error} = group[0];
    const equal = group.every((node) => node.error === error);
    return matter(look, group.length, equal ? error : text,
      why[result] + underRulesInForce(result, group),
      address('message', text));
  });
}

function underRulesInForce(result, group) {
  if (!data.compared || result === 'untried') { return ''; }
  const newly = group.filter(isNew).length;
  return newly ?
    `, ${number.format(newly)} not so under the rules in force` :
    ', also under the rules in force';
}

// Whether a machine fails that does not with the rules in force.
function isNew(node) {
  return node.was === 'ok' && node.result !== 'ok';
}

// A line for all machines at risk that lose the same traits.
function risks() {
  const groups = Map.groupBy(nodes.filter((node) => node.risk),
    lost);
  return longestFirst(groups).map(([names, group]) => matter('warn',
    group.length, riskWords(names, group.length), 'instances at risk',
    `#losing=${encodeURIComponent(names)}`));
}

function riskWords(names, instances) {
  if (!names) { return 'no longer validate'; }
  return (instances === 1 ? 'instance needs what its node loses' :
    'instances need what their nodes lose') + `: ${names}`;
}

function mattersCard() {
  const found = [...messages('error', 'bad'), ...risks(),
    ...messages('failed', 'bad'), ...messages('untried', '')];
  if (!found.length) { return null; }
  return {kind: 'card', id: 'matters', menu: 'Needs a look',
    title: 'What needs a look',
    about: 'Equal ones are together; each leads to its machines.',
    parts: [some(found, 8, (line) => line,
      make('ul', {className: 'matters'}))]};
}

function differenceItem(difference) {
  const {nodes: group, lines, at} = difference;
  return make('article', {className: 'item'}, make('h3', {},
    link('difference', at + 1, many(group.length, 'machine', 'machines')),
    make('small', {}, ` ${percent(group.length, nodes.length)}`)),
  underObjects(lines.map((line) => line.split('\n'))));
}

// The fields that change, those of most machines first: on how many machines,
// and how often to which value.
function fieldsOf() {
  const found = new Map();
  for (const {outcome} of nodes) {
    // A machine counts once, also if a field changes on several of its ports.
    const counted = new Set();
    for (const {object, path, value} of outcome.changes) {
      if (object === 'traits') { continue; }
      const name = `${kind(object)} ${path}`;
      if (!found.has(name)) { found.set(name, {name, size: 0,
        values: new Map()}); }
      const field = found.get(name);
      if (!counted.has(name)) { field.size += 1; }
      counted.add(name);
      field.values.set(value, (field.values.get(value) || 0) + 1);
    }
  }
  return [...found.values()].sort((one, other) => other.size - one.size);
}

function fieldItem({name, size, values}) {
  const [object, path] = name.split(/ (.*)/s);
  const top = largestFirst(values).slice(0, 4);
  return make('article', {className: 'item field'},
    make('div', {}, make('span', {}, make('code', {}, path),
      object === 'node' ? null : make('small', {}, ` ${object}`)),
    link('field', name, number.format(size))), meterOf(size),
    make('p', {className: 'soft mono values'},
      values.size > 20 ? `${number.format(values.size)} values` :
        top.map(valueWords).join(' · '),
      values.size <= 20 && values.size > top.length ? ' …' : ''));
}

function valueWords([value, times]) {
  return `${value === null ? 'removed' : value} (${number.format(times)})`;
}

function meterOf(size) {
  const fill = make('b', {});
  fill.style.width = `${100 * size / nodes.length}%`;
  return make('div', {className: 'thin'}, fill);
}

function changesCard() {
  if (!differences.length) { return null; }
  const fields = fieldsOf();
  const what = {kind: 'card', id: 'differences', menu: 'Changes',
    title: data.compared ? 'What comes out differently' : 'What changes',
    about: 'Machines with the same changes are one; … stands for values of ' +
      'which each machine has its own.',
    parts: [some(differences, 4, differenceItem,
      make('div', {className: 'items'}))]};
  const where = {kind: 'card', id: 'fields', menu: '',
    title: 'Field by field',
    about: 'How many machines each changes on, and to what.',
    parts: [fields.length ? some(fields, 9, fieldItem,
      make('div', {className: 'items tight'})) : make('p',
      {className: 'soft'}, 'Only traits change.')]};
  return {kind: 'pair', look: 'uneven', parts: [what, where]};
}
