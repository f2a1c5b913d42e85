// What a page shows of a table: what the address chooses, and of that what
// the search finds.
//
// text: row => what is searched; choices: key => (value => [words, test]).
class Finder {
  constructor({id, table, rows, text, choices, one, more}) {
    Object.assign(this, {id, table, rows, text, choices, one, more});
    this.only = null;
    this.search = make('input', {type: 'search', placeholder:
      `Search ${more} ( / )`, aria: {label: `Search ${more}`}});
    this.search.addEventListener('input', later(() => this.find()));
    this.chosen = make('span', {});
    this.count = make('span', {className: 'count', aria: {live: 'polite'}});
    this.element = make('div', {}, make('div', {className: 'find'},
      this.search, this.chosen, this.count), table.element);
  }

  find() {
    const words = this.search.value.toLowerCase().split(/\s+/)
      .filter(Boolean);
    const rows = this.rows.filter((row) => {
      if (this.only && !this.only[1](row)) { return false; }
      if (!words.length) { return true; }
      const text = this.text(row).toLowerCase();
      return words.every((word) => text.includes(word));
    });
    this.table.show(rows);
    this.count.textContent = many(rows.length, this.one, this.more);
    this.chosen.replaceChildren(...(this.only ? [make('a', {
      className: 'chip', href: `#${this.id}`, title: 'Show all'},
    `${this.only[0]}  ×`)] : []));
  }

  choose(only) {
    this.only = only;
    this.find();
  }

  // Do what the address says; tell whether it is for this table.
  follow([key, value]) {
    if (key === this.id) { this.choose(null); return true; }
    const chosen = Object.hasOwn(this.choices, key) &&
      this.choices[key](value);
    if (!chosen) { return false; }
    this.search.value = '';
    this.choose(chosen);
    document.getElementById(this.id).scrollIntoView();
    return true;
  }

  reveal(row) {
    if (!row) { return; }
    if (!this.table.rows.includes(row)) {
      this.search.value = '';
      this.choose(null);
    }
    this.table.reveal(row);
  }
}

function block(title, ...content) {
  return make('div', {className: 'block'}, make('h4', {}, title),
    ...content);
}

// Lines of a diff: what is added, what is gone, and the places between.
function diffOf(lines) {
  const looks = {'+': 'add', '−': 'del', '-': 'del', '~': 'set', ' ': ''};
  return make('div', {className: 'lines'}, lines.map((line) => make('div',
    {className: line[0] in looks ? looks[line[0]] : 'object'},
    line || ' ')));
}
