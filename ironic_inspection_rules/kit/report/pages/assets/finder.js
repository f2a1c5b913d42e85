// What a page shows of a table: what the address chooses, and of that what
// the search finds.
//
// text: row => what is searched; choose: (key, value) => [words, test], or
// nothing where the address is not for this table; named: [key, row => id],
// addresses that open one row.
const finders = [];

class Finder {
  constructor({id, table, rows, text, choose, named, one, more}) {
    Object.assign(this, {id, table, rows, choose, named, one, more});
    this.texts = new Map();
    this.text = text;
    this.only = null;
    this.search = make('input', {type: 'search', placeholder:
      `Search ${more} ( / )`, aria: {label: `Search ${more}`}});
    this.search.addEventListener('input', later(() => this.find()));
    this.chosen = make('span', {});
    this.count = make('span', {className: 'count', aria: {role: 'status'}});
    this.element = make('div', {}, make('div', {className: 'find'},
      this.search, this.chosen, this.count), table.element);
    finders.push(this);
  }

  textOf(row) {
    if (!this.texts.has(row)) {
      this.texts.set(row, this.text(row).toLowerCase());
    }
    return this.texts.get(row);
  }

  find() {
    const words = this.search.value.toLowerCase().split(/\s+/)
      .filter(Boolean);
    const rows = this.rows.filter((row) => {
      if (this.only && !this.only[1](row)) { return false; }
      return words.every((word) => this.textOf(row).includes(word));
    });
    this.table.show(rows);
    this.count.textContent = many(rows.length, this.one, this.more);
    this.chosen.replaceChildren(...(this.only ? [this.chip()] : []));
  }

  // What is chosen; a click chooses all again.
  chip() {
    return make('a', {className: 'chip', href: `#${this.id}`,
      title: 'Show all', aria: {label: `${this.only[0]}; show all`}},
    `${this.only[0]}  ×`);
  }

  limit(only) {
    this.only = only;
    this.find();
  }

  // Do what the address says; return whether it is for this table.
  follow([key, value]) {
    if (key === this.id) { this.limit(null); return true; }
    if (this.named && key === this.named[0]) {
      this.reveal(this.rows.find((row) => this.named[1](row) === value));
      return true;
    }
    const chosen = this.choose?.(key, value);
    if (!chosen) { return false; }
    this.search.value = '';
    this.limit(chosen);
    document.getElementById(this.id).scrollIntoView();
    return true;
  }

  reveal(row) {
    if (!row) { return; }
    if (!this.table.rows.includes(row)) {
      this.search.value = '';
      this.limit(null);
    }
    this.table.reveal(row);
  }
}

function followAddress() {
  finders.some((finder) => finder.follow(place()));
}
