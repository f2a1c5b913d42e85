// A table that sorts, and has only those rows in the page that are seen.
//
// columns: {title, sort: row => value, cell: row => node or text,
//           look: class, width, first: 'descending' where it sorts so first}
// detail: row => node, what a row opens to; onShow: rows => nothing.
const PRINTED = 1000;  // Rows on paper at most.
const SPARE = 12;  // Rows in the page beyond both ends of the screen.
const USUAL_HEIGHT = 38;  // Of a row, where there is none to measure.

function compare(one, other) {
  return typeof one === 'number' && typeof other === 'number' ?
    one - other : collator.compare(one, other);
}

class Table {
  constructor({columns, rows, detail, label}) {
    Object.assign(this, {columns, detail, all: rows, rows});
    this.opened = null;
    this.sorted = null;
    this.height = 0;
    this.before = this.space();
    this.after = this.space();
    this.body = make('tbody', {});
    this.heads = columns.map((column, index) => this.head(column, index));
    this.table = make('table', {className: 'table', aria: {label}},
      make('thead', {}, make('tr', {aria: {rowindex: 1}}, this.heads)),
      this.body);
    this.nothing = make('p', {className: 'nothing', hidden: true},
      'Nothing fits the search.');
    this.element = make('div', {}, this.table, this.nothing);
    this.body.addEventListener('click', (event) => this.click(event));
    this.body.addEventListener('keydown', (event) => this.move(event));
    this.watch();
  }

  // A row that is as high as all those that are not in the page.
  space() {
    return make('tr', {className: 'space', aria: {hidden: 'true'}},
      make('td', {}));
  }

  head(column, index) {
    const head = make('th', {scope: 'col', className: column.look || ''},
      make('button', {type: 'button', onclick: () => this.sort(index)},
        column.title));
    head.style.width = column.width || 'auto';
    return head;
  }

  watch() {
    let asked = false;
    const drawSoon = () => {
      if (asked) { return; }
      asked = true;
      requestAnimationFrame(() => { asked = false; this.draw(); });
    };
    addEventListener('scroll', drawSoon, {passive: true});
    addEventListener('resize', () => { this.height = 0; drawSoon(); });
    addEventListener('beforeprint', () => this.draw(true));
    addEventListener('afterprint', () => this.draw());
    requestAnimationFrame(drawSoon);
  }

  show(rows) {
    this.all = rows;
    this.opened = null;
    this.arrange();
    this.onShow?.(rows);
  }

  sort(index) {
    const again = this.sorted?.index === index;
    const descending = again ? !this.sorted.descending :
      this.columns[index].first === 'descending';
    this.sorted = {index, descending};
    this.heads.forEach((head, place) => {
      if (place !== index) { head.removeAttribute('aria-sort'); return; }
      head.setAttribute('aria-sort',
        descending ? 'descending' : 'ascending');
    });
    this.arrange();
  }

  arrange() {
    this.rows = this.sorted ? this.inOrder() : this.all;
    this.nothing.hidden = this.rows.length > 0;
    // Not all rows are in the page, so how many there are has to be said.
    this.table.setAttribute('aria-rowcount', this.rows.length + 1);
    this.draw();
  }

  inOrder() {
    const {index, descending} = this.sorted;
    const {sort} = this.columns[index];
    const side = descending ? -1 : 1;
    const keyed = this.all.map((row) => [sort(row), row]);
    keyed.sort(([one], [other]) => side * compare(one, other));
    return keyed.map(([, row]) => row);
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
    this.focus(at);
  }

  openerOf(at) {
    return this.body.querySelector(`tr[data-at="${at}"] .opener`);
  }

  focus(at) {
    this.openerOf(at)?.focus({preventScroll: true});
  }

  // Open a row and bring it into sight.
  reveal(row) {
    const at = this.rows.indexOf(row);
    if (at < 0) { return; }
    this.opened = this.detail ? row : null;
    this.draw();
    const top = this.body.getBoundingClientRect().top + scrollY;
    scrollTo({top: top + at * this.height - 120, behavior: 'instant'});
    this.draw();
    this.focus(at);
  }

  move(event) {
    const step = {ArrowDown: 1, ArrowUp: -1}[event.key];
    const row = event.target.closest('tr[data-at]');
    if (!step || !row || !event.target.matches('.opener')) { return; }
    event.preventDefault();
    const at = Number(row.dataset.at) + step;
    if (!this.openerOf(at)) {
      scrollBy({top: step * this.height * 5, behavior: 'instant'});
      this.draw();
    }
    const next = this.openerOf(at);
    if (next) {
      next.focus();
      next.scrollIntoView({block: 'nearest'});
    }
  }

  line(row, at) {
    const cells = this.columns.map(({cell, look}, index) => {
      const content = cell(row);
      // The name of a row is said with each of its cells.
      const made = index ? make('td', {}) : make('th', {scope: 'row'});
      made.className = look || '';
      // What does not fit into the cell is there in full.
      if (typeof content === 'string') { made.title = content; }
      made.append(index === 0 && this.detail ? this.opener(row, content) :
        content);
      return made;
    });
    // The line of the heads is the first.
    return make('tr', {dataset: {at}, aria: {rowindex: at + 2}}, cells);
  }

  opener(row, content) {
    return make('button', {type: 'button', className: 'opener',
      aria: {expanded: String(this.opened === row)}}, content);
  }

  // Put the rows into the page that are in sight; whole: all, for paper.
  draw(whole) {
    if (!this.element.isConnected) { return; }
    if (!this.height) { this.measure(); }
    const {top} = this.body.getBoundingClientRect();
    const extra = this.heightOfDetail();
    let from = Math.max(0, this.rowAt(-top, extra) - SPARE);
    let to = Math.min(this.rows.length,
      this.rowAt(innerHeight - top, extra) + SPARE);
    if (whole) { [from, to] = [0, Math.min(PRINTED, this.rows.length)]; }
    from = Math.min(from, this.rows.length);
    this.put(from, Math.max(from, to), extra, whole);
  }

  measure() {
    this.body.replaceChildren(...this.rows.slice(0, 1).map(
      (row) => this.line(row, 0)));
    this.height = this.body.getBoundingClientRect().height || 0;
  }

  heightOfDetail() {
    const detail = this.body.querySelector('tr.detail');
    return this.opened && detail ?
      detail.getBoundingClientRect().height : 0;
  }

  // The row so many pixels below the first one, of which one may be open.
  rowAt(pixels, extra) {
    const high = this.height || USUAL_HEIGHT;
    const end = (this.rows.indexOf(this.opened) + 1) * high;
    const beyond = extra && pixels > end ?
      Math.min(extra, pixels - end) : 0;
    return Math.floor((pixels - beyond) / high);
  }

  // Replace the rows in the page; extra: the height of the opened part. It may
  // be in rows above, then the space above is so much higher.
  put(from, to, extra, whole) {
    const high = this.height || USUAL_HEIGHT;
    const focused = document.activeElement?.closest?.('tr[data-at]');
    const focus = focused && this.body.contains(focused) ?
      focused.dataset.at : null;
    const opened = this.rows.indexOf(this.opened);
    const columns = this.heads.filter((head) => head.offsetWidth).length;
    const lines = [];
    for (let at = from; at < to; at += 1) {
      lines.push(this.line(this.rows[at], at));
      if (at === opened) { lines.push(this.opening(columns)); }
    }
    if (whole && this.rows.length > to) {
      lines.push(make('tr', {}, make('td', {colSpan: columns},
        `and ${number.format(this.rows.length - to)} more`)));
    }
    const above = opened >= 0 && opened < from ? extra : 0;
    this.stretch(this.before, columns, from * high + above);
    this.stretch(this.after, columns,
      whole ? 0 : (this.rows.length - to) * high);
    this.body.replaceChildren(this.before, ...lines, this.after);
    if (focus !== null) { this.focus(focus); }
  }

  stretch(space, columns, height) {
    space.firstChild.colSpan = columns;
    space.firstChild.style.height = `${height}px`;
  }

  // The row below an opened one. It is made once: what a user has unfolded in
  // it stays while the table scrolls.
  opening(columns) {
    if (this.drawn?.row !== this.opened) {
      this.drawn = {row: this.opened, element: make('tr', {
        className: 'detail'}, make('td', {}, this.detail(this.opened)))};
    }
    this.drawn.element.firstChild.colSpan = columns;
    return this.drawn.element;
  }
}

function meter(part, whole, text, look = '') {
  const fill = make('b', {className: look});
  fill.style.width = `${whole ? 100 * part / whole : 0}%`;
  return make('div', {className: 'meter'}, make('i', {}, fill),
    make('span', {}, text === undefined ? number.format(part) : text));
}
