// Rows by columns, of which only those rows are in the page that are seen.
//
// head: column => th; name: row => text; cell: (row, column) =>
// [class, sign, title]; pick: (row, column) => nothing.
class Matrix {
  constructor({columns, rows, head, name, cell, pick, corner, label}) {
    Object.assign(this, {columns, rows, head, name, cell, pick, corner});
    this.at = null;
    this.height = 0;
    this.first = make('tr', {});
    this.body = make('tbody', {});
    this.element = make('div', {className: 'matrix', tabIndex: 0, aria: {
      label: `${label}; arrow keys move`, role: 'region'}},
    make('table', {}, make('thead', {}, this.first), this.body));
    this.element.addEventListener('scroll', () => this.draw(),
      {passive: true});
    this.element.addEventListener('keydown', (event) => this.move(event));
    this.body.addEventListener('click', (event) => {
      const cell = event.target.closest('td, th');
      const row = event.target.closest('tr[data-at]');
      if (cell && row) {
        this.select(Number(row.dataset.at), cell.cellIndex - 1);
      }
    });
    addEventListener('resize', () => { this.height = 0; this.draw(); });
    addEventListener('beforeprint', () => this.draw(true));
    addEventListener('afterprint', () => this.draw());
    requestAnimationFrame(() => this.draw());
  }

  show(rows, columns) {
    const [row, column] = this.at ? [this.rows[this.at[0]],
      this.columns[this.at[1]]] : [];
    this.rows = rows;
    this.columns = columns || this.columns;
    this.at = [rows.indexOf(row), this.columns.indexOf(column)];
    if (this.at[0] < 0) { this.at = null; }
    this.first.replaceChildren(make('th', {scope: 'col'}, this.corner()),
      ...this.columns.map(this.head));
    this.draw();
  }

  // What is at -1 of a row is the row itself.
  select(row, column) {
    this.at = [row, column];
    this.pick(this.rows[row], this.columns[column]);
    const top = row * this.height;
    const head = this.first.getBoundingClientRect().height;
    const {scrollTop, clientHeight} = this.element;
    if (this.height && (top < scrollTop ||
        top + this.height > scrollTop + clientHeight - head)) {
      this.element.scrollTop = top - (clientHeight - head) / 2;
    }
    this.draw();
    const cell = this.body.querySelector('[aria-selected]');
    const name = cell?.parentNode.cells[0].getBoundingClientRect();
    if (!cell || column < 0) { return; }
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
    if (!step || event.target !== this.element) { return; }
    event.preventDefault();
    const [row, column] = this.at || [0, -1];
    const next = [row + step[0], column + step[1]];
    if (this.rows[next[0]] && next[1] >= -1 &&
        next[1] < this.columns.length) {
      this.select(...next);
    }
  }

  line(row, at) {
    const name = this.name(row);
    const made = make('tr', {dataset: {at}}, make('th', {scope: 'row',
      title: name}, name), this.columns.map((column) => {
      const [className, sign, title] = this.cell(row, column);
      return make('td', {className, title}, sign);
    }));
    if (this.at && this.at[0] === at) {
      made.cells[this.at[1] + 1]?.setAttribute('aria-selected', 'true');
    }
    return made;
  }

  draw(whole) {
    if (!this.element.isConnected) { return; }
    if (!this.height && this.rows.length) {
      this.body.replaceChildren(this.line(this.rows[0], 0),
        this.line(this.rows[0], 0));
      const [one, two] = [...this.body.rows].map(
        (row) => row.getBoundingClientRect().top);
      this.height = two - one;
    }
    const high = this.height || 28;
    const {scrollTop, clientHeight} = this.element;
    const from = whole ? 0 : Math.max(0, Math.floor(scrollTop / high) - 6);
    const to = Math.min(this.rows.length, whole ? PRINTED :
      Math.ceil((scrollTop + clientHeight) / high) + 6);
    const space = (rows) => {
      const cell = make('td', {colSpan: this.columns.length + 1});
      cell.style.height = `${rows * high - 2}px`;
      return rows > 0 ? [make('tr', {className: 'space'}, cell)] : [];
    };
    this.body.replaceChildren(...space(from), ...this.rows.slice(from, to)
      .map((row, at) => this.line(row, from + at)),
    ...space(whole ? 0 : this.rows.length - to));
  }
}
