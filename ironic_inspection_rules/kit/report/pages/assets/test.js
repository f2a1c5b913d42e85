// What rules do to machines from files, and why.
const signs = {matched: '✓', unmatched: '', differs: '≠', failed: '!',
  error: '×', skipped: '–'};
const words = {
  matched: 'matches, its actions ran', unmatched: 'does not match',
  differs: 'finds a difference from the profile, or would fail but for its ' +
    'mode',
  failed: 'fails the inspection', error: 'has an error',
  skipped: 'not looked at: another scope or mode, or the inspection had ' +
    'ended'};
const compact = new Intl.NumberFormat('en', {notation: 'compact'});
const cells = data.cells.map(([state, conditions, actions]) => ({
  state, conditions: conditions?.map((at) => data.conditions[at]),
  actions: actions?.map((at) => data.actions[at])}));
const rows = data.rows.map((row) => row.map((at) => cells[at]));
const diffs = data.diffs.map((diff) => diff.map((at) => data.texts[at]));
const outcomes = data.outcomes.map(([result, error, diff, row]) => ({
  result, error, diff: diffs[diff], cells: rows[row]}));
const machines = data.machines.map(([name, at]) => ({
  name, ...outcomes[at]}));
const rules = data.rules.map((rule, at) => ({...rule, at,
  matches: machines.filter(({cells}) => hit(cells[at])).length}));

function hit(cell) {
  return !['unmatched', 'skipped'].includes(cell.state);
}

function differs(machine) {
  return machine.cells.some((cell) => cell.state === 'differs');
}

function has(result) {
  return machines.filter((machine) => machine.result === result).length;
}

function box(state) {
  return make('i', {className: `box ${state}`, aria: {hidden: 'true'}},
    signs[state]);
}

// The beginning and the end of a title: similar ones often differ at the end.
function shortened(title) {
  return title.length <= 32 ? title :
    `${title.slice(0, 15).trimEnd()} … ${title.slice(-14).trimStart()}`;
}

function head(rule, at) {
  const before = matrix.columns[at - 1];
  const scope = rule.scope ? `, scope ${rule.scope}` : '';
  const about = [rule.title, `phase ${rule.phase}, priority ` +
    `${rule.priority}${scope}, mode ${rule.mode}`,
  `matches ${rule.matches} of ${machines.length}`];
  const looks = [];
  if (!rule.matches) { looks.push('never'); }
  if (before && before.phase !== rule.phase) { looks.push('begins'); }
  return make('th', {scope: 'col', title: about.join('\n'),
    className: looks.join(' ')}, make('a', {
    href: address('matches', rule.uuid), aria: {label: about.join(', ')}},
  make('span', {}, shortened(rule.title)), make('small', {},
    rule.matches < 1000 ? rule.matches : compact.format(rule.matches))));
}

function list(items) {
  return items.length ? make('ul', {}, items) : make('p',
    {className: 'soft'}, 'none');
}

function written(text) {
  return text ? make('pre', {}, text) : null;
}

function condition([op, result, reason], text) {
  const state = result === null ? 'error' : result ? 'matched' : 'unmatched';
  return make('li', {}, box(state), make('code', {}, data.texts[op]),
    make('div', {}, written(text), reason === null ? null : make('pre',
      {className: 'seen'}, data.texts[reason])));
}

function action([op, reverted, lines], text) {
  return make('li', {}, make('code', {}, data.texts[op]),
    reverted ? ' (undone)' : '', make('div', {}, written(text),
      lines.map((at) => make('pre', {className: 'seen'}, data.texts[at]))));
}

// What became of a rule on a machine, and by which conditions and actions.
function whyRule(machine, rule) {
  const cell = machine.cells[rule.at];
  const parts = [make('div', {}, make('h2', {}, rule.title),
    make('p', {className: 'soft'}, `${rule.phase}, priority ` +
      `${rule.priority} · `, link('matches', rule.uuid, 'matches ' +
      many(rule.matches, 'machine', 'machines'))),
    make('p', {}, box(cell.state), words[cell.state]))];
  if (rule.vars) { parts.push(block('Variables', written(rule.vars))); }
  if (cell.conditions) {
    parts.push(block('Conditions', list(cell.conditions.map(
      (asked, at) => condition(asked, rule.conditions[at])))),
    block('Actions', list(cell.actions.map(
      (done, at) => action(done, rule.actions[at])))));
  }
  return parts;
}

// Changes of sensitive rules are in no page.
function mayHideChanges(machine) {
  return rules.some(({withheld, mode, at}) => withheld &&
    mode === 'enforce' && machine.cells[at].state !== 'skipped');
}

function whyMachine(machine) {
  const none = make('p', {className: 'soft'}, mayHideChanges(machine) ?
    'none but what sensitive rules may set' : 'none');
  return [
    block('Machine', make('p', {}, machine.name), machine.error ?
      make('p', {className: 'say bad'}, machine.error) : null),
    block('All changes to this machine',
      machine.diff.length ? diffOf(machine.diff) : none)];
}

function why(machine, rule) {
  detail.hidden = false;
  detail.replaceChildren(...(rule ? whyRule(machine, rule) : []),
    ...whyMachine(machine));
  detail.scrollTop = 0;
}

const detail = make('aside', {className: 'card why', hidden: true,
  aria: {live: 'polite', label: 'Why'}});
const matrix = new Matrix({label: 'Machines by rules', rows: machines,
  columns: rules, head, pick: why, name: (machine) => machine.name,
  corner: () => `${many(matrix.rows.length, 'machine', 'machines')}, ` +
    many(matrix.columns.length, 'rule', 'rules'),
  cell: (machine, rule) => {
    const {state} = machine.cells[rule.at];
    return [state, signs[state], words[state]];
  }});
const shown = {
  ok: ['that succeed', (machine) => machine.result === 'ok'],
  failed: ['that fail', (machine) => machine.result === 'failed'],
  error: ['with a rule error', (machine) => machine.result === 'error'],
  differs: ['with a difference from the profile, or a rule that would fail ' +
    'but for its mode', differs],
  unmatched: ['that no rule matches',
    (machine) => !machine.cells.some(hit)],
};

function choose(key, value) {
  if (key === 'show') { return Object.hasOwn(shown, value) && shown[value]; }
  const rule = key === 'matches' && rules.find(({uuid}) => uuid === value);
  return rule && [`that “${rule.title}” matches`,
    (machine) => hit(machine.cells[rule.at])];
}

const finder = new Finder({id: 'machines', table: matrix, rows: machines,
  one: 'machine', more: 'machines', choose,
  text: (machine) => `${machine.name} ${machine.result} ` +
    (machine.error || '')});
const ruleSearch = make('input', {type: 'search', placeholder:
  'Search rules', aria: {label: 'Search rules'}});
ruleSearch.addEventListener('input', later(() => {
  const wanted = ruleSearch.value.toLowerCase();
  matrix.show(matrix.rows, rules.filter(
    (rule) => rule.title.toLowerCase().includes(wanted)));
}));
finder.search.after(ruleSearch);

function tileOf(name, label, look) {
  return tile(machines.filter(shown[name][1]).length, label, look,
    address('show', name));
}

// Only rules of a profile, and those in audit, differ.
const anyDiffers = machines.some(differs);

function legend() {
  const states = Object.keys(signs).filter((state) => state !== 'differs' ||
    anyDiffers);
  return make('div', {className: 'key'}, states.map((state) =>
    make('span', {title: words[state]}, box(state), state)));
}

drawPage({
  headline: `${number.format(has('ok'))} of ${many(machines.length,
    'inspection', 'inspections')} would succeed.`,
  about: `${data.files} on machines from ${data.directory}, ${data.made}`,
  parts: [
    make('div', {className: 'tiles'},
      tileOf('ok', ['succeeds', 'succeed'], 'good'),
      tileOf('failed', ['fails', 'fail'], 'bad'),
      tileOf('error', ['with a rule error', 'with a rule error'], 'bad'),
      anyDiffers ? tileOf('differs', ['differs', 'differ'], 'bad') : null,
      tileOf('unmatched', ['matches no rule', 'match no rule'], 'accent'),
      tile(rules.filter((rule) => !rule.matches).length,
        ['rule matches no machine', 'rules match no machine'], '')),
    {kind: 'pair', look: 'bench', parts: [
      {kind: 'card', id: 'machines', menu: 'Machines and rules',
        title: 'Machines and rules',
        about: 'A cell says why a rule matches a machine, or why not.',
        parts: [legend(), finder.element]},
      detail]},
  ]});
// Where there is no room beside the cells, nothing covers them at first.
if (machines.length && matchMedia('(min-width: 64rem)').matches) {
  const row = Math.max(0, matrix.rows.findIndex(
    (machine) => machine.result !== 'ok' || differs(machine)));
  const states = machines[row].cells.map((cell) => cell.state);
  matrix.select(row, ['error', 'failed', 'differs', 'matched'].map(
    (state) => states.indexOf(state)).find((at) => at >= 0) ?? -1);
}
