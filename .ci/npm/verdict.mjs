// Shows what a run of the suite came to, and fails if a check did not pass that is not in the baseline: the suite itself
// lets pass what it does not score.
//
//	node verdict.mjs server STATUS LOG RESULTS BASELINE
//	node verdict.mjs client STATUSES RESULTS BASELINE
//
// Against a server the suite plays all scenarios in one run, and has a summary of its own. A client is run for each
// scenario alone; STATUSES is a file with a line for each, of its name and the suite's status.

import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

const [side, first, ...more] = process.argv.slice(2);
const [results, baseline] = more.slice(-2);
const allowed = parse(readFileSync(baseline, 'utf8'));
const expected = new Set(allowed[side]);
const skipped = new Set(side === 'client' ? allowed['client-skipped'] : []);
const wrong = [];

// What was found, check by check, is in a folder for each scenario, which is called after it and the time.
const checks = new Map();
const said = new Map();
for (const folder of existsSync(results) ? readdirSync(results) : []) {
  const scenario = folder.replace(/^server-/, '').replace(/-\d{4}-\d\d-\d\dT[\d-]+Z$/, '');
  checks.set(scenario, JSON.parse(readFileSync(join(results, folder, 'checks.json'), 'utf8')));
  const stderr = join(results, folder, 'stderr.txt');
  if (existsSync(stderr)) said.set(scenario, readFileSync(stderr, 'utf8').trim());
}

// Each scenario that has run, and those that did not end with status 0 by themselves.
const ran = new Set();
const ended = new Set();
if (side === 'server') {
  const text = readFileSync(more[0], 'utf8');
  const summary = text.slice(Math.max(0, text.indexOf('=== SUMMARY ===')));
  console.log(summary.trim());
  for (const found of summary.matchAll(/^[✓✗~] ([\w/-]+): \d+ passed/gm)) ran.add(found[1]);
} else {
  for (const line of readFileSync(first, 'utf8').trim().split('\n')) {
    const [scenario, status] = line.split(' ');
    ran.add(scenario);
    if (status !== '0') ended.add(scenario);
    const found = checks.get(scenario) ?? [];
    const of = (...kinds) => found.filter((check) => kinds.includes(check.status)).length;
    console.log(`${status === '0' ? '✓' : '✗'} ${scenario}: ${of('SUCCESS')} passed, ${of('FAILURE')} failed, ${of('WARNING')} warnings, ${of('SKIPPED')} skipped`);
  }
}
for (const scenario of ran) {
  if (!checks.has(scenario)) wrong.push(`${scenario} has left no results`);
}
if (checks.size === 0) wrong.push('nothing was checked');

const count = { scenarios: 0, passed: 0, expected: 0, skipped: 0 };
let excused = false; // the suite ends with another status than 0 because of what is in the baseline
for (const [scenario, found] of checks) {
  const mayBeSkipped = (check) => check.status === 'SKIPPED' && skipped.has(`${scenario}:${check.name}`);
  const bad = found.filter((check) => check.status !== 'SUCCESS' && check.status !== 'INFO' && !mayBeSkipped(check));
  if (!expected.has(scenario)) {
    count.scenarios++;
    count.passed += found.filter((check) => check.status === 'SUCCESS').length;
    count.skipped += found.filter(mayBeSkipped).length;
    for (const check of bad) wrong.push(`${scenario}: ${check.id}: ${check.status}: ${check.errorMessage ?? check.description}`);
    if (!found.some((check) => check.status === 'SUCCESS')) wrong.push(`${scenario} has checked nothing`);
    if (ended.has(scenario)) wrong.push(`${scenario}: the suite does not end with status 0; the client said:\n${said.get(scenario) || 'nothing'}`);
    continue;
  }
  count.expected += bad.length;
  excused ||= bad.some((check) => check.status === 'FAILURE');
  if (bad.length === 0) wrong.push(`${scenario} passes, and is in the baseline: take it out`);
}
if (side === 'server' && first !== '0' && !excused && wrong.length === 0) wrong.push(`the suite ends with status ${first}`);

console.log(`\n${count.scenarios} scenarios: ${count.passed} checks passed${count.skipped > 0 ? `, ${count.skipped} skipped as the baseline says` : ''}`);
if (count.expected > 0) console.log(`${checks.size - count.scenarios} scenarios of the baseline: ${count.expected} checks did not pass`);
if (wrong.length > 0) {
  console.error(`\n${wrong.map((line) => `✗ ${line}`).join('\n')}`);
  process.exit(1);
}
