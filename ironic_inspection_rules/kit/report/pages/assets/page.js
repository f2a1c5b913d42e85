// Draws a page from its description; page.py has the words of it.
//
// What is described is text, a list of parts in one line, an element, or an
// object with a kind, which is drawn by the function of that name.
const drawers = {
  tag: ({text, look}) => make('span', {className: `tag ${look}`}, text),
  link: ({text, key, value}) => link(key, value, text),
  words: ({text, look}) => make('span', {className: `words ${look}`}, text),
  code: ({text}) => make('code', {}, text),
  meter: ({part, whole, text, look}) => meter(part, whole, text, look),
  note: ({text, look}) => make('p', {className: `say ${look}`}, text),
  lines: ({lines}) => diffOf(lines),
  block: ({title, parts}) => block(title, ...parts.map(drawPart)),
  item: drawItem,
  bulletlist: ({items, first}) => some(items, first, drawItem,
    make('div', {className: 'items'})),
  grid: drawGrid,
  legend: drawLegend,
  tiles: ({tiles}) => make('div', {className: 'tiles'}, tiles.map(
    ({count, words, look, link: target}) => tile(count, words, look,
      target.length ? address(...target) : ''))),
  chips: ({links}) => make('div', {className: 'chips'}, links.map(
    ({text, key, value}) => make('a', {className: 'chip',
      href: address(key, value)}, text))),
  card: ({id, title, about, parts}) => card(id, title, about,
    ...parts.map(drawPart)),
  pair: ({look, parts}) => make('div', {className: `pair ${look}`},
    parts.map(drawPart)),
  pagetable: drawTable,
};

// A part on its own.
function drawPart(part) {
  if (part === null || part instanceof Node) { return part; }
  if (typeof part === 'string' || part.kind === 'words') {
    return make('p', {}, drawInline(part));
  }
  if (Array.isArray(part)) { return make('p', {}, part.map(drawInline)); }
  return drawers[part.kind](part);
}

// A part inside of a line or a cell.
function drawInline(part) {
  if (typeof part === 'string' || part instanceof Node) { return part; }
  if (typeof part === 'number') { return number.format(part); }
  if (Array.isArray(part)) {
    return make('span', {}, part.map(drawInline));
  }
  return drawers[part.kind](part);
}

function block(title, ...content) {
  return make('div', {className: 'block'}, make('h4', {}, title),
    ...content);
}

function drawItem({heading, parts}) {
  return make('article', {className: 'keep item'},
    make('h3', {}, heading.flatMap((part) => [drawInline(part), ' '])),
    ...parts.map(drawPart));
}

function drawGrid({label, heads, rows, first}) {
  const body = make('tbody', {});
  const line = (row) => make('tr', {}, row.map((cell, index) => make(
    index ? 'td' : 'th', index ? {} : {scope: 'row'}, drawInline(cell))));
  const table = make('table', {className: 'grid', aria: {label}},
    make('thead', {}, make('tr', {}, heads.map((head) => make('th',
      {scope: 'col'}, drawInline(head))))), body);
  body.append(...rows.slice(0, first).map(line));
  // It can be reached by the keyboard, which scrolls it.
  const box = make('div', {className: 'sideways', tabIndex: 0, aria: {
    role: 'region', label}}, table);
  if (rows.length <= first) { return box; }
  const more = make('button', {type: 'button', className: 'more',
    onclick: () => {
      body.append(...rows.slice(first).map(line));
      more.remove();
    }}, `Show ${number.format(rows.length - first)} more`);
  return make('div', {}, box, more);
}

function drawLegend({entries}) {
  return make('div', {className: 'key'}, entries.map(([name, words]) =>
    make('span', {}, make('i', {className: name}), words)));
}

// Lines of a diff: what is added, what is gone, and the places between.
function diffOf(lines) {
  const looks = {'+': 'add', '−': 'del', '-': 'del', '~': 'set', ' ': ''};
  return make('div', {className: 'lines'}, lines.map((line) => make('div',
    {className: line[0] in looks ? looks[line[0]] : 'object'},
    line || ' ')));
}

// The words of a part, for the search and for sorting. A part may have them
// in any of the fields below.
function wordsOf(part) {
  if (typeof part !== 'object') { return String(part); }
  if (part === null) { return ''; }
  if (Array.isArray(part)) { return part.map(wordsOf).join(' '); }
  return ['text', 'title', 'lines', 'parts', 'heading', 'items', 'heads',
    'rows', 'why'].filter((name) => name in part).map(
    (name) => wordsOf(part[name])).join(' ');
}

function sortKey(part) {
  if (typeof part === 'number') { return part; }
  if (part?.kind === 'meter') {
    return part.whole ? part.part / part.whole : 1;
  }
  return wordsOf(part);
}

// Columns are sent as their values, equal ones once.
function unpack({values, places}) {
  return places ? places.map((at) => values[at]) : values;
}

function rowsOf({cells, marks, opened}) {
  const columns = cells.map(unpack);
  const opening = unpack(opened);
  return unpack(marks).map((marked, at) => ({marks: marked,
    opened: opening[at], at, cells: columns.map((column) => column[at])}));
}

function columnOf({title, width, wide, number: right, descending}, index) {
  const looks = [];
  if (wide) { looks.push('wide'); }
  if (right) { looks.push('number'); }
  return {title, width, look: looks.join(' '),
    first: descending ? 'descending' : '',
    sort: (row) => sortKey(row.cells[index]),
    cell: (row) => drawInline(row.cells[index])};
}

// What a row opens to: its name, which may not fit into its cell, what a
// narrow screen has no columns for, and the parts of its own.
function drawOpened(columns, row) {
  const hidden = columns.flatMap(({title, wide}, index) => wide ?
    [make('dt', {}, title), make('dd', {}, drawInline(row.cells[index]))] :
    []);
  return make('div', {className: 'opened'},
    make('p', {className: 'soft'}, wordsOf(row.cells[0])),
    hidden.length ? make('dl', {className: 'narrow'}, hidden) : null,
    ...row.opened.map(drawPart));
}

// A function that is called once for an object, and keeps the result.
function remembering(call) {
  const known = new Map();
  return (object) => {
    if (!known.has(object)) { known.set(object, call(object)); }
    return known.get(object);
  };
}

function drawTable(described) {
  const {id, noun: [one, more], choices, below} = described;
  const rows = rowsOf(described);
  const columns = described.columns.map(columnOf);
  const opens = !below && rows.some((row) => row.opened.length);
  if (below) {
    columns[0].cell = (row) => link(`${id}-${row.at + 1}`, '',
      wordsOf(row.cells[0]));
  }
  const table = new Table({label: more, rows, columns, detail: opens ?
    (row) => drawOpened(described.columns, row) : null});
  // Many rows open to the same.
  const textOfOpened = remembering(wordsOf);
  const finder = new Finder({id, table, rows, one, more,
    text: (row) => `${wordsOf(row.cells)} ${textOfOpened(row.opened)}`,
    choose: (key, value) => {
      const mark = `${key}=${value}`;
      return Object.hasOwn(choices, mark) && [choices[mark],
        (row) => row.marks.includes(mark)];
    }});
  if (!below) { return finder.element; }
  return make('div', {}, finder.element, drawBelow(id, table, rows));
}

// The name of a row, and the words of its last column as a tag.
function headingOf({cells}) {
  const last = cells.at(-1);
  return [wordsOf(cells[0]), {kind: 'tag', text: wordsOf(last),
    look: last.look || ''}];
}

// All that rows would open to, of those rows that the table has.
function drawBelow(id, table, rows) {
  const items = rows.map((row) => {
    const item = drawItem({heading: headingOf(row), parts: row.opened});
    item.id = `${id}-${row.at + 1}`;
    return item;
  });
  table.onShow = (fitting) => {
    const known = new Set(fitting);
    items.forEach((item, at) => { item.hidden = !known.has(rows[at]); });
  };
  return make('div', {className: 'items below'}, ...items);
}

function drawPage({headline, about, parts}) {
  const cards = parts.flatMap((part) => part?.kind === 'pair' ?
    part.parts : [part]).filter((part) => part?.menu);
  show({headline, about}, cards.map(({id, menu}) => [id, menu]),
    parts.map(drawPart).filter((part) => part !== null));
  finders.forEach((finder) => finder.find());
  addEventListener('hashchange', followAddress);
  followAddress();
}

// The scripts of pictures come after this one.
addEventListener('DOMContentLoaded', () => {
  if (data.kind === 'htmlpage') { drawPage(data); }
});
