// Takes from the lock file what says nothing about what is installed: where its packages
// may be had, and who would like to be paid for them.

import { readFileSync, writeFileSync } from 'node:fs';

const lock = JSON.parse(readFileSync('package-lock.json', 'utf8'));
for (const entry of Object.values(lock.packages)) {
  delete entry.resolved;
  delete entry.funding;
}
writeFileSync('package-lock.json', `${JSON.stringify(lock, null, 2)}\n`);
