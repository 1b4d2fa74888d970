// Names the client scenarios that are played, one on each line, and says on standard error which are not: those of
// authorization, which is no part of the client yet. Fails if there are none of either kind, since then something is
// not as it was.
//
//	node scenarios.mjs requirements REVISION   what a revision requires, scored or not
//	node scenarios.mjs listed WORD < LISTING   all that the suite lists for a revision, or for "extension"

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { dirname, join } from 'node:path';
import { parse } from 'yaml';

const [from, word] = process.argv.slice(2);
const here = dirname(fileURLToPath(import.meta.url));

let all;
if (from === 'requirements') {
  const file = join(here, 'node_modules/@modelcontextprotocol/conformance/requirements', `${word}.yaml`);
  const required = parse(readFileSync(file, 'utf8'));
  all = [...required.client, ...required.not_scored.filter((entry) => entry.leg === 'client').map((entry) => entry.scenario)];
} else {
  all = [...readFileSync(0, 'utf8').matchAll(/^ *- (\S+) \[(.*)\]$/gm)].filter((found) => found[2].split(',').includes(word)).map((found) => found[1]);
}

const left = all.filter((name) => name.startsWith('auth/'));
const played = all.filter((name) => !name.startsWith('auth/'));
if (left.length === 0 || played.length === 0) {
  console.error(`${all.length} scenarios, of which ${left.length} are of authorization: that cannot be all`);
  process.exit(1);
}
console.error(`left out, ${left.length} of authorization: ${left.join(' ')}`);
console.log(played.join('\n'));
