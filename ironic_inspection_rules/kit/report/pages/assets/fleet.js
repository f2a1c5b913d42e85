// The report of a fleet, from what matters to what is all there.
function headline() {
  const changed = count((node) => node.changed);
  if (!nodes.length) { return 'There is no machine.'; }
  if (!changed && data.compared) {
    return 'Every machine comes out as with the rules in force.';
  }
  if (!changed) {
    const failing = count((node) => ['failed', 'error'].includes(
      node.result));
    return failing ? 'Nothing would change, but ' + many(failing,
      'inspection would fail.', 'inspections would fail.') :
      'Nothing changes on any machine.';
  }
  return `${number.format(changed)} of ` +
    `${many(nodes.length, 'machine', 'machines')} ` +
    (data.compared ? 'would come out differently.' : 'would change.');
}

function tiles() {
  const of = (test, label, look, key) => {
    const value = count(test);
    return tile(value, label, look, value ? `#show=${key}` : null);
  };
  const newly = data.compared ? count(
    (node) => node.result === 'failed' && isNew(node)) : 0;
  const fresh = newly ? `; ${number.format(newly)} newly` : '';
  return make('div', {className: 'tiles'},
    of((node) => node.changed, data.compared ? ['machine differs',
      'machines differ'] : ['machine changes', 'machines change'],
    'accent', 'changed'),
    of((node) => node.risk, ['instance at risk', 'instances at risk'],
      'bad', 'risk'),
    of((node) => node.result === 'error', 'with a rule error', 'bad',
      'error'),
    of((node) => node.result === 'failed', [`inspection fails${fresh}`,
      `inspections fail${fresh}`], 'warn', 'failed'),
    of(isUnmatched, 'no rule matches', '', 'unmatched'),
    ...(count((node) => node.result === 'untried') ? [
      of((node) => node.result === 'untried', 'could not be tried', '',
        'untried')] : []));
}

function about() {
  return [new Date(data.made).toLocaleString('en-GB',
    {dateStyle: 'long', timeStyle: 'short'}),
    many(nodes.length, 'machine', 'machines'),
    many(rules.length, 'rule', 'rules')].join(' · ');
}

function chips() {
  return make('div', {className: 'chips'}, Object.entries(data.filters || {})
    .map(([name, value]) => make('span', {className: 'chip'},
      make('span', {className: 'soft'}, name), typeof value === 'string' ?
        value : JSON.stringify(value))));
}

const matters = mattersCard();
const capacity = capacityCard();
const changing = changesCard();
const anyTrait = nodes.some((node) => node.traits.size ||
  node.outcome.gains.size);
const anyClass = nodes.some((node) => node.before || node.after);
show([...(matters ? [['matters', 'Needs a look']] : []),
  ...(capacity ? [['capacity', 'Capacity']] : []),
  ...(changing ? [['changes', 'Changes']] : []),
  ...(anyTrait ? [['traits', 'Traits']] : []),
  ...(anyClass ? [['classes', 'Classes']] : []),
  ...(nodes.length && rules.length ? [['map', 'Map']] : []),
  ['rules', 'Rules'], ['machines', 'Machines']],
make('div', {className: 'title'}, make('h1', {}, headline()),
  make('p', {className: 'soft'}, `${data.title} · ${about()}`), chips()),
tiles(), ...(nodes.length ? [resultBar()] : []), matters,
capacity, changing,
anyTrait || anyClass ? make('div', {className: 'pair'},
  anyTrait ? traitPicture() : null, anyClass ? classPicture() : null) : null,
nodes.length && rules.length ? mapCard() : null,
card('rules', 'Rules', 'In the order they run in.', ruleTable.element),
card('machines', 'Machines', null, finder.element));
finder.find();
follow();
