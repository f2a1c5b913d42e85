// What somebody has to look at, and what changes, equal things as one.
const NUMBER = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d+/g;

// The same text for errors that only tell other numbers; a UUID is a name.
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

function messages(result, look) {
  const groups = Map.groupBy(nodes.filter((node) => node.result === result &&
    node.error), (node) => withoutNumbers(node.error));
  return [...groups].sort(([, a], [, b]) => b.length - a.length).map(
    ([text, group]) => {
      const newly = group.filter(isNew).length;
      return matter(look, group.length, group.every(
        (node) => node.error === group[0].error) ? group[0].error : text,
      why[result] + (!data.compared || result === 'untried' ? '' : newly ?
        `, ${number.format(newly)} not so under the rules in force` :
        ', also under the rules in force'),
      `#message=${encodeURIComponent(text)}`);
    });
}

// Whether a machine fails that does not with the rules in force.
function isNew(node) {
  return node.was === 'ok' && node.result !== 'ok';
}

function risks() {
  const groups = Map.groupBy(nodes.filter((node) => node.risk),
    lost);
  return [...groups].sort(([, a], [, b]) => b.length - a.length).map(
    ([names, group]) => matter('bad', group.length, names ?
      `${group.length === 1 ? 'instance needs what its node loses' :
        'instances need what their nodes lose'}: ${names}` :
      'no longer validate', 'instances at risk', `#losing=${encodeURIComponent(names)}`));
}

function mattersCard() {
  const found = [...risks(), ...messages('error', 'bad'),
    ...messages('failed', 'warn'), ...messages('untried', '')];
  return found.length ? card('matters', 'What needs a look',
    'Equal ones are together; each leads to its machines.',
    some(found, 8, (each) => each, make('ul', {className: 'matters'}))) :
    null;
}

function differenceItem(difference) {
  const {nodes: group, lines, at} = difference;
  return make('article', {className: 'item'}, make('h3', {},
    link('difference', at + 1, many(group.length, 'machine', 'machines')),
    make('small', {}, ` ${percent(group.length, nodes.length)}`)),
  underObjects(lines.map((line) => line.split('\n'))));
}

function fieldsOf() {
  const found = new Map();
  for (const outcome of outcomes) { outcome.fields = new Map(); }
  for (const {outcome} of nodes) {
    for (const {object, path, value} of outcome.changes) {
      if (object === 'traits') { continue; }
      const name = `${kind(object)} ${path}`;
      if (!found.has(name)) { found.set(name, {name, size: 0,
        values: new Map()}); }
      const field = found.get(name);
      if (!outcome.fields.has(name)) { field.size += 1; }
      outcome.fields.set(name, true);
      field.values.set(value, (field.values.get(value) || 0) + 1);
    }
    outcome.fields.clear();
  }
  return [...found.values()].sort((a, b) => b.size - a.size);
}

function fieldItem({name, size, values}) {
  const [object, path] = name.split(/ (.*)/s);
  const top = [...values].sort(([, a], [, b]) => b - a).slice(0, 4);
  return make('article', {className: 'item field'},
    make('div', {}, make('span', {}, make('code', {}, path),
      object === 'node' ? null : make('small', {}, ` ${object}`)),
    link('field', name, number.format(size))), meterOf(size),
    make('p', {className: 'soft mono values'}, values.size > 20 ?
      `${number.format(values.size)} values` : top.map(
        ([value, times]) => `${value === null ? 'removed' : value} ` +
        `(${number.format(times)})`).join(' · ') +
        (values.size > top.length ? ' …' : '')));
}

function meterOf(size) {
  const fill = make('b', {});
  fill.style.width = `${100 * size / nodes.length}%`;
  return make('div', {className: 'thin'}, fill);
}

function changesCard() {
  if (!differences.length) { return null; }
  const fields = fieldsOf();
  return make('div', {className: 'pair uneven', id: 'changes'},
    card('differences', data.compared ? 'What comes out differently' :
      'What changes', 'Machines with the same changes are one; … stands ' +
      'for values of which each machine has its own.',
    some(differences, 4, differenceItem, make('div',
      {className: 'items'}))),
    card('fields', 'Field by field', 'How many machines each changes on, ' +
      'and to what.', fields.length ? some(fields, 9, fieldItem,
      make('div', {className: 'items tight'})) : make('p',
      {className: 'soft'}, 'Only traits change.')));
}
