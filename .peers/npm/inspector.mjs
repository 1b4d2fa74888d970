// The Inspector's command line: how it is run, and what is asked with it.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

export const inspector = join(dirname(createRequire(import.meta.url).resolve('@modelcontextprotocol/inspector/package.json')), 'clients/launcher/build/index.js');

// withHome runs f with a folder for the files that the Inspector keeps.
export async function withHome(f) {
  const home = await mkdtemp(join(tmpdir(), 'petrock-inspector-'));
  try {
    return await f(home);
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

// inspect asks a server for something and returns the result. server are the arguments that say which.
export async function inspect(server, era, ...args) {
  return withHome(async (home) => {
    const { stdout } = await promisify(execFile)(process.execPath, [inspector, '--cli', ...server, '--protocol-era', era, '--format', 'json', '--quiet', ...args], {
      env: { ...process.env, HOME: home },
      timeout: 60_000,
    });
    return JSON.parse(stdout).result;
  });
}

// asking tests the Inspector with a server. name says which; server() are the arguments for it.
export function asking(name, server) {
  for (const era of ['legacy', 'auto', 'modern']) {
    const ask = (...args) => inspect(server(), era, ...args);

    test(`the Inspector ${name}, ${era}: list`, async () => {
      const { tools } = await ask('--method', 'tools/list');
      for (const name of ['add', 'wait']) assert.ok(tools.some((tool) => tool.name === name), `${name} is missing`);
      const { resources } = await ask('--method', 'resources/list');
      assert.ok(resources.some((resource) => resource.uri === 'note://readme'));
      const { prompts } = await ask('--method', 'prompts/list');
      assert.ok(prompts.some((prompt) => prompt.name === 'greet'));
    });

    test(`the Inspector ${name}, ${era}: call, read, get`, async () => {
      const sum = await ask('--method', 'tools/call', '--tool-name', 'add', '--tool-args-json', '{"a":2,"b":40}');
      assert.deepEqual(sum.structuredContent, { sum: 42 });
      const revision = await ask('--method', 'tools/call', '--tool-name', 'revision');
      assert.equal(revision.content[0].text, era === 'legacy' ? '2025-11-25' : '2026-07-28');
      const { contents } = await ask('--method', 'resources/read', '--uri', 'note://readme');
      assert.equal(contents[0].text, 'hello');
      // It tells a tool that failed by its exit status.
      await assert.rejects(ask('--method', 'tools/call', '--tool-name', 'fail'), { code: 5 });
      const { messages } = await ask('--method', 'prompts/get', '--prompt-name', 'greet', '--prompt-args', 'name=Ada');
      assert.equal(messages.length, 2);
    });
  }
}
