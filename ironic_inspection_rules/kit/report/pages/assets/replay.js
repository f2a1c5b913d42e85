// Which inspections would have ended otherwise, and with what.
const runs = data.runs.map(([name, when, outcome, before, after, at]) => {
  const [reason, error, lines, lost, gained] = data.details[at];
  return {name, when, outcome, before, after, at, reason, error, lost,
    gained, lines: data.lines[lines]};
});
const groups = [...Map.groupBy(runs, ({at, before, after}) =>
  `${at} ${before} ${after}`).values()].sort(
  ([a, ...others], [b, ...more]) => isWorse(b) - isWorse(a) ||
    more.length - others.length);
const looks = {different: 'warn', error: 'bad'};

function resultText(run) {
  if (run.outcome === 'error') { return 'not decided'; }
  return run.before === run.after ? String(run.after) :
    `${run.before} → ${run.after}`;
}

function resultTag(run) {
  const look = run.outcome === 'error' || run.after === 'failed' ? 'bad' :
    run.before === run.after ? '' : 'good';
  return make('span', {className: `tag ${look}`}, resultText(run));
}

function isWorse(run) {
  return run.before === 'ok' && run.after !== 'ok';
}

function matches(title, names) {
  return names.length ? block(title, make('p', {}, names.join(', '))) : null;
}

function what(run) {
  return make('div', {className: 'opened'}, [run.reason, run.error].filter(Boolean).map(
    (text) => make('p', {className: 'say warn'}, text)),
  run.lines.length ? diffOf(run.lines) : null,
  matches('Matched then, not now', run.lost),
  matches('Matches now, not then', run.gained));
}

const table = new Table({label: 'Inspections', rows: runs,
  detail: what,
  columns: [
    {title: 'Machine', sort: (run) => run.name, cell: (run) => run.name},
    {title: 'Inspected', look: 'wide', width: '14rem',
      sort: (run) => run.when, cell: (run) => run.when},
    {title: 'Then → now', width: '9rem', sort: resultText,
      cell: resultTag}]});
const finder = new Finder({id: 'inspections', table, rows: runs,
  one: 'inspection', more: 'inspections',
  text: (run) => [run.name, run.when, resultText(run), run.reason,
    run.error, ...run.lines, ...run.lost, ...run.gained].join(' '),
  choices: {
    show: (value) => ({
      different: ['that would have ended otherwise',
        (run) => run.outcome === 'different'],
      error: ['that could not be decided', (run) => run.outcome === 'error'],
      worse: ['that succeeded and would not', isWorse],
    })[value],
    difference: (at) => groups[at - 1] && [`with difference ${at}`,
      (run) => groups[at - 1].includes(run)],
  }});

function groupOf(group) {
  const at = groups.indexOf(group) + 1;
  const names = [...new Set(group.map((run) => run.name))];
  return make('article', {className: 'keep item'}, make('h3', {},
    link('difference', at, many(group.length, 'inspection',
      'inspections')), ' ', resultTag(group[0])),
  make('p', {className: 'soft'}, names.slice(0, 3).join(', '),
    names.length > 3 ? ' …' : ''), what(group[0]));
}

function count(name, label, look) {
  return tile(data[name], label, look, data[name] && name in looks ?
    `#show=${name}` : null);
}

const all = data.same + data.different + data.incomparable + data.error;
const sections = [];
const parts = [
  make('div', {className: 'title'}, make('h1', {},
    `${data.different ? number.format(data.different) : 'None'} of ` +
    `${many(all, 'inspection', 'inspections')} would have ended otherwise.`),
  make('p', {className: 'soft'}, `${data.title}, ${data.made}`)),
  make('div', {className: 'tiles'},
    count('same', ['ends as it did', 'end as they did'], 'good'),
    count('different', ['ends otherwise', 'end otherwise'], looks.different),
    tile(runs.filter(isWorse).length, 'no longer succeed', 'bad',
      runs.some(isWorse) ? '#show=worse' : null),
    count('incomparable', 'cannot be compared', ''),
    count('error', 'could not be decided', looks.error))];
if (groups.length) {
  sections.push(['differences', 'Differences'], ['inspections',
    'Inspections']);
  parts.push(card('differences', 'What ends otherwise',
    'Equal differences are one.',
    some(groups, 12, groupOf, make('div', {className: 'items'}))),
  card('inspections', 'Inspections', 'Those that end as they did are only ' +
    'counted.', finder.element));
}
if (data.reasons.length) {
  sections.push(['reasons', 'Not compared']);
  parts.push(card('reasons', 'Why some cannot be compared', null,
    make('ul', {}, data.reasons.map(([reason, often]) =>
      make('li', {}, `${number.format(often)}: ${reason}`)))));
}
show(sections, ...parts);
if (groups.length) {
  finder.find();
  const follow = () => finder.follow(place());
  addEventListener('hashchange', follow);
  follow();
}
