// A table that sorts, and has only those rows in the page that are seen.
//
// columns: {title, sort: row => value, cell: row => node or text,
//           look: class, width, first: 'descending' where it sorts so first}
// detail: row => node, what a row opens to.
const PRINTED = 1000;

class Table {
  constructor({columns, rows, detail, key, label}) {
    Object.assign(this, {columns, detail, key, all: rows, rows});
    this.opened = null;
    this.sorted = null;
    this.height = 0;
    this.spaces = ['before', 'after'].map(() => make('tr', {
      className: 'space', aria: {hidden: 'true'}}, make('td', {})));
    this.body = make('tbody', {});
    this.heads = columns.map((column, index) => make('th', {
      scope: 'col', className: column.look || ''},
    make('button', {type: 'button', onclick: () => this.sort(index)},
      column.title)));
    this.heads.forEach((head, index) => {
      head.style.width = columns[index].width || 'auto';
    });
    this.table = make('table', {className: 'table', aria: {label}},
      make('thead', {}, make('tr', {}, this.heads)), this.body);
    this.nothing = make('p', {className: 'nothing', hidden: true},
      'Nothing fits the search.');
    this.element = make('div', {}, this.table, this.nothing);
    this.body.addEventListener('click', (event) => this.click(event));
    this.body.addEventListener('keydown', (event) => this.move(event));
    this.watch();
  }

  watch() {
    let asked = false;
    const draw = () => {
      if (asked) { return; }
      asked = true;
      requestAnimationFrame(() => { asked = false; this.draw(); });
    };
    addEventListener('scroll', draw, {passive: true});
    addEventListener('resize', () => { this.height = 0; draw(); });
    addEventListener('beforeprint', () => this.draw(true));
    addEventListener('afterprint', () => this.draw());
    requestAnimationFrame(draw);
  }

  show(rows) {
    this.all = rows;
    this.opened = null;
    this.arrange();
  }

  sort(index, descending) {
    const {first} = this.columns[index];
    if (descending === undefined) {
      descending = this.sorted && this.sorted.index === index ?
        !this.sorted.descending : first === 'descending';
    }
    this.sorted = {index, descending};
    this.heads.forEach((head, at) => {
      if (at !== index) { head.removeAttribute('aria-sort'); return; }
      head.setAttribute('aria-sort',
        descending ? 'descending' : 'ascending');
    });
    this.arrange();
  }

  arrange() {
    if (this.sorted) {
      const {index, descending} = this.sorted;
      const {sort} = this.columns[index];
      const side = descending ? -1 : 1;
      const keyed = this.all.map((row) => [sort(row), row]);
      keyed.sort(([a], [b]) => side * (typeof a === 'number' ? a - b :
        collator.compare(a, b)));
      this.rows = keyed.map(([, row]) => row);
    } else {
      this.rows = this.all;
    }
    this.nothing.hidden = this.rows.length > 0;
    this.draw();
  }

  click(event) {
    const row = event.target.closest('tr[data-at]');
    if (row && this.detail && !event.target.closest('a') &&
        !getSelection().toString()) {
      this.toggle(Number(row.dataset.at));
    }
  }

  toggle(at) {
    const row = this.rows[at];
    this.opened = this.opened === row ? null : row;
    this.draw();
    this.body.querySelector(`tr[data-at="${at}"] .opener`)?.focus(
      {preventScroll: true});
  }

  // Open a row and bring it into sight.
  reveal(row) {
    const at = this.rows.indexOf(row);
    if (at < 0) { return false; }
    this.opened = this.detail ? row : null;
    this.draw();
    const top = this.body.getBoundingClientRect().top + scrollY;
    scrollTo({top: top + at * this.height - 120, behavior: 'instant'});
    this.draw();
    this.body.querySelector(`tr[data-at="${at}"] .opener`)?.focus(
      {preventScroll: true});
    return true;
  }

  move(event) {
    const step = {ArrowDown: 1, ArrowUp: -1}[event.key];
    const row = event.target.closest('tr[data-at]');
    if (!step || !row || !event.target.matches('.opener')) { return; }
    event.preventDefault();
    const at = Number(row.dataset.at) + step;
    const find = () => this.body.querySelector(
      `tr[data-at="${at}"] .opener`);
    if (!find()) {
      scrollBy({top: step * this.height * 5, behavior: 'instant'});
      this.draw();
    }
    const next = find();
    if (next) {
      next.focus();
      next.scrollIntoView({block: 'nearest'});
    }
  }

  line(row, at) {
    const cells = this.columns.map(({cell, look}, index) => {
      const shown = cell(row);
      const opener = index === 0 && this.detail;
      return make('td', {className: look || '',
        ...(typeof shown === 'string' ? {title: shown} : {})},
      opener ? make('button', {type: 'button', className: 'opener'}, shown) :
        shown);
    });
    return make('tr', {dataset: {at}, ...(this.detail ? {aria: {
      expanded: String(this.opened === row)}} : {})}, cells);
  }

  draw(whole) {
    if (!this.element.isConnected) { return; }
    if (!this.height) {
      this.body.replaceChildren(...this.rows.slice(0, 1).map(
        (row) => this.line(row, 0)));
      this.height = this.body.getBoundingClientRect().height || 0;
    }
    const {top} = this.body.getBoundingClientRect();
    const high = this.height || 38;
    const opened = this.rows.indexOf(this.opened);
    const detail = this.body.querySelector('tr.detail');
    const extra = opened >= 0 && detail ?
      detail.getBoundingClientRect().height : 0;
    const at = (y) => {
      const beyond = extra && y > (opened + 1) * high ?
        Math.min(extra, y - (opened + 1) * high) : 0;
      return Math.floor((y - beyond) / high);
    };
    let from = Math.max(0, at(-top) - 12);
    let to = Math.min(this.rows.length, at(innerHeight - top) + 12);
    if (whole) { [from, to] = [0, Math.min(PRINTED, this.rows.length)]; }
    from = Math.min(from, this.rows.length);
    to = Math.max(from, to);
    this.put(from, to, opened, high, extra, whole);
  }

  put(from, to, opened, high, extra, whole) {
    const focused = document.activeElement?.closest?.('tr[data-at]');
    const focus = focused && this.body.contains(focused) ?
      focused.dataset.at : null;
    const columns = this.heads.filter((head) => head.offsetWidth).length;
    const lines = [];
    for (let at = from; at < to; at += 1) {
      lines.push(this.line(this.rows[at], at));
      if (at === opened) { lines.push(this.opening(columns)); }
    }
    const [before, after] = this.spaces;
    before.firstChild.colSpan = after.firstChild.colSpan = columns;
    const above = opened >= 0 && opened < from ? extra : 0;
    before.firstChild.style.height = `${from * high + above}px`;
    after.firstChild.style.height = whole ? '0' :
      `${(this.rows.length - to) * high}px`;
    const rest = whole && this.rows.length > to ? [make('tr', {}, make('td', {
      colSpan: columns}, 'and ' +
      `${number.format(this.rows.length - to)} more`))] : [];
    this.body.replaceChildren(before, ...lines, ...rest, after);
    if (focus !== null) {
      this.body.querySelector(`tr[data-at="${focus}"] .opener`)?.focus(
        {preventScroll: true});
    }
  }

  opening(columns) {
    if (this.shown?.row !== this.opened) {
      this.shown = {row: this.opened, element: make('tr', {
        className: 'detail'}, make('td', {}, this.detail(this.opened)))};
    }
    this.shown.element.firstChild.colSpan = columns;
    return this.shown.element;
  }
}

function meter(part, whole, text) {
  const fill = make('b', {});
  fill.style.width = `${whole ? 100 * part / whole : 0}%`;
  return make('div', {className: 'meter'}, make('i', {}, fill),
    make('span', {}, text === undefined ? number.format(part) : text));
}
