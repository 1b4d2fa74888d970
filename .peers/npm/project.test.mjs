// A project that petrock new has just made: each client starts its server as the project's
// configuration says, and calls the project's tools and petrock's.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

import { Client as V2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as V2Transport } from '@modelcontextprotocol/client/stdio';
import { Client as V1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as V1Transport } from '@modelcontextprotocol/sdk/client/stdio.js';

import { inspector, withHome } from './inspector.mjs';

const project = process.env.PEERS_PROJECT;
assert.ok(project, 'PEERS_PROJECT must name a new project, as the script run does');
const config = join(project, '.mcp.json');
const { mcpServers } = JSON.parse(await readFile(config, 'utf8'));

const clients = {
  v1: () => [new V1({ name: 'v1-peer', version: '1' }), V1Transport],
  'v2, handshake': () => [new V2({ name: 'v2-peer', version: '1' }, { versionNegotiation: { mode: 'legacy' } }), V2Transport],
  'v2, stateless': () => [new V2({ name: 'v2-peer', version: '1' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } }), V2Transport],
};
const calls = {
  add: [{ name: 'add', arguments: { a: 2, b: 40 } }, (content) => assert.deepEqual(content, { sum: 42 })],
  petrock_project_status: [{ name: 'petrock_project_status', arguments: {} }, (content) => assert.equal(content.builds, true, JSON.stringify(content))],
};

for (const [name, make] of Object.entries(clients)) {
  for (const [tool, [call, check]] of Object.entries(calls)) {
    test(`a new project, ${name}: ${tool}`, async (t) => {
      const [client, Transport] = make();
      const { command, args } = mcpServers.hello;
      await client.connect(new Transport({ command, args, cwd: project, env: process.env, stderr: 'ignore' }));
      t.after(() => client.close());
      check((await client.callTool(call)).structuredContent);
    });
  }
}

for (const [tool, [call, check]] of Object.entries(calls)) {
  test(`a new project, the Inspector: ${tool}`, () => withHome(async (home) => {
    // The Inspector gives a server hardly any of its environment, and HOME is where Go's caches are.
    const caches = ['GOCACHE', 'GOMODCACHE'].flatMap((name) => ['-e', `${name}=${process.env[`PEERS_${name}`]}`]);
    const asked = ['--method', 'tools/call', '--tool-name', call.name, '--tool-args-json', JSON.stringify(call.arguments)];
    const { stdout } = await promisify(execFile)(process.execPath, [inspector, '--cli', '--config', config, '--server', 'hello', '--format', 'json', '--quiet', ...caches, ...asked], {
      cwd: project,
      env: { ...process.env, HOME: home },
      timeout: 60_000,
    });
    check(JSON.parse(stdout).result.structuredContent);
  }));
}
