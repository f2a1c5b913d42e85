// Rows by columns, of which only those rows are in the page that are seen.
//
// head: column => th; name: row => text; cell: (row, column) =>
// [class, sign, title]; pick: (row, column) => nothing.
class Matrix {
  constructor({columns, rows, head, name, cell, pick, corner, label}) {
    Object.assign(this, {columns, rows, head, name, cell, pick, corner});
    this.at = null;
    this.height = 0;
    this.first = make('tr', {aria: {rowindex: 1}});
    this.body = make('tbody', {});
    // One stop of the Tab key; arrow keys move, and what they select is said.
    this.grid = make('table', {tabIndex: 0, aria: {role: 'grid',
      label: `${label}; arrow keys move`}},
    make('thead', {}, this.first), this.body);
    this.element = make('div', {className: 'matrix'}, this.grid);
    this.element.addEventListener('scroll', () => this.draw(),
      {passive: true});
    this.grid.addEventListener('keydown', (event) => this.move(event));
    this.body.addEventListener('click', (event) => this.click(event));
    addEventListener('resize', () => { this.height = 0; this.draw(); });
    addEventListener('beforeprint', () => this.draw(true));
    addEventListener('afterprint', () => this.draw());
    requestAnimationFrame(() => this.draw());
  }

  show(rows, columns = this.columns) {
    const row = this.at && this.rows[this.at[0]];
    const column = this.at && this.columns[this.at[1]];
    this.rows = rows;
    this.columns = columns;
    this.at = rows.includes(row) ?
      [rows.indexOf(row), columns.indexOf(column)] : null;
    this.grid.setAttribute('aria-rowcount', rows.length + 1);
    this.grid.setAttribute('aria-colcount', columns.length + 1);
    this.first.replaceChildren(make('th', {scope: 'col'}, this.corner()),
      ...columns.map(this.head));
    this.draw();
  }

  click(event) {
    const cell = event.target.closest('td, th');
    const row = event.target.closest('tr[data-at]');
    if (cell && row) {
      this.select(Number(row.dataset.at), cell.cellIndex - 1);
    }
  }

  // What is at -1 of a row is the row itself.
  select(row, column) {
    this.at = [row, column];
    this.pick(this.rows[row], this.columns[column]);
    this.scrollToRow(row);
    this.draw();
    if (column >= 0) { this.scrollToColumn(); }
  }

  scrollToRow(row) {
    const top = row * this.height;
    const head = this.first.getBoundingClientRect().height;
    const {scrollTop, clientHeight} = this.element;
    if (this.height && (top < scrollTop ||
        top + this.height > scrollTop + clientHeight - head)) {
      this.element.scrollTop = top - (clientHeight - head) / 2;
    }
  }

  scrollToColumn() {
    const cell = this.body.querySelector('[aria-selected]');
    if (!cell) { return; }
    const name = cell.parentNode.cells[0].getBoundingClientRect();
    const {left, right} = cell.getBoundingClientRect();
    const beyond = right - this.element.getBoundingClientRect().right + 4;
    if (left < name.right) {
      this.element.scrollLeft -= name.right - left + 4;
    } else if (beyond > 0) {
      this.element.scrollLeft += beyond;
    }
  }

  reveal(row) { this.select(this.rows.indexOf(row), -1); }

  move(event) {
    const step = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1],
      ArrowRight: [0, 1]}[event.key];
    if (!step || event.target !== this.grid) { return; }
    event.preventDefault();
    const [row, column] = this.at || [0, -1];
    const nextRow = row + step[0];
    const nextColumn = column + step[1];
    if (this.rows[nextRow] && nextColumn >= -1 &&
        nextColumn < this.columns.length) {
      this.select(nextRow, nextColumn);
    }
  }

  line(row, at) {
    const name = this.name(row);
    const made = make('tr', {dataset: {at}, aria: {rowindex: at + 2}},
      make('th', {scope: 'row', title: name}, name),
      this.columns.map((column) => {
        const [className, sign, title] = this.cell(row, column);
        return make('td', {className, title}, sign);
      }));
    if (this.at && this.at[0] === at) {
      this.mark(made.cells[this.at[1] + 1], name);
    }
    return made;
  }

  // The selected cell, which the grid names to those who listen.
  mark(cell, name) {
    if (!cell) { return; }
    cell.setAttribute('aria-selected', 'true');
    cell.id = 'selected';
    const column = this.columns[this.at[1]];
    if (column) {
      cell.setAttribute('aria-label',
        `${name}, ${column.title}: ${cell.title}`);
    }
    this.grid.setAttribute('aria-activedescendant', cell.id);
  }

  // The distance of two lines, which have space between them.
  measure() {
    this.body.replaceChildren(this.line(this.rows[0], 0),
      this.line(this.rows[0], 0));
    const [one, two] = [...this.body.rows].map(
      (row) => row.getBoundingClientRect().top);
    this.height = two - one;
  }

  // A line in place of rows that are not in the page; the space between lines
  // is not part of its cell.
  space(rows, high) {
    if (rows <= 0) { return []; }
    const cell = make('td', {colSpan: this.columns.length + 1});
    cell.style.height = `${rows * high - 2}px`;
    return [make('tr', {className: 'space', aria: {hidden: 'true'}}, cell)];
  }

  draw(whole) {
    if (!this.element.isConnected) { return; }
    if (!this.height && this.rows.length) { this.measure(); }
    const high = this.height || 28;
    const {scrollTop, clientHeight} = this.element;
    const from = whole ? 0 : Math.max(0, Math.floor(scrollTop / high) - 6);
    const to = Math.min(this.rows.length, whole ? PRINTED :
      Math.ceil((scrollTop + clientHeight) / high) + 6);
    const lines = this.rows.slice(from, to).map(
      (row, at) => this.line(row, from + at));
    this.body.replaceChildren(...this.space(from, high), ...lines,
      ...this.space(whole ? 0 : this.rows.length - to, high));
  }
}
