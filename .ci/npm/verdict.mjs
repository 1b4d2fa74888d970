// Shows what a run of the suite came to, and fails if a check did not pass that is not in the baseline: the suite itself
// lets pass what it does not score.
//
//	node verdict.mjs STATUS LOG RESULTS BASELINE

import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

const [status, log, results, baseline] = process.argv.slice(2);
const text = readFileSync(log, 'utf8');
const expected = new Set(parse(readFileSync(baseline, 'utf8')).server);
const wrong = [];

// The summary is the suite's own, and names each scenario that has run.
const summary = text.slice(Math.max(0, text.indexOf('=== SUMMARY ===')));
console.log(summary.trim());
const ran = new Set([...summary.matchAll(/^[✓✗~] ([\w/-]+): \d+ passed/gm)].map((found) => found[1]));

// What was found, check by check, is in a folder for each scenario, which is called after it and the time.
const checks = new Map();
for (const folder of existsSync(results) ? readdirSync(results) : []) {
  const scenario = folder.replace(/^server-/, '').replace(/-\d{4}-\d\d-\d\dT[\d-]+Z$/, '');
  checks.set(scenario, JSON.parse(readFileSync(join(results, folder, 'checks.json'), 'utf8')));
}
for (const scenario of ran) {
  if (!checks.has(scenario)) wrong.push(`${scenario} has left no results`);
}
if (checks.size === 0) wrong.push('nothing was checked');

const count = { scenarios: 0, passed: 0, expected: 0 };
let excused = false; // the suite ends with another status than 0 because of what is in the baseline
for (const [scenario, found] of checks) {
  const bad = found.filter((check) => check.status !== 'SUCCESS' && check.status !== 'INFO');
  if (!expected.has(scenario)) {
    count.scenarios++;
    count.passed += found.filter((check) => check.status === 'SUCCESS').length;
    for (const check of bad) wrong.push(`${scenario}: ${check.id}: ${check.status}: ${check.errorMessage ?? check.description}`);
    if (!found.some((check) => check.status === 'SUCCESS')) wrong.push(`${scenario} has checked nothing`);
    continue;
  }
  count.expected += bad.length;
  excused ||= bad.some((check) => check.status === 'FAILURE');
  if (bad.length === 0) wrong.push(`${scenario} passes, and is in the baseline: take it out`);
}
if (status !== '0' && !excused && wrong.length === 0) wrong.push(`the suite ends with status ${status}`);

console.log(`\n${count.scenarios} scenarios: ${count.passed} checks passed`);
if (count.expected > 0) console.log(`${checks.size - count.scenarios} scenarios of the baseline: ${count.expected} checks did not pass`);
if (wrong.length > 0) {
  console.error(`\n${wrong.map((line) => `✗ ${line}`).join('\n')}`);
  process.exit(1);
}
