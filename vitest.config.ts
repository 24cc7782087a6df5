import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { defineConfig } from 'vitest/config'
import { LOAD_CORE } from './test/support/load-core-alias.ts'

// Texts show local times.
process.env['TZ'] = 'UTC'

const isDeep = process.env['HOOKSPAN_TEST_DEEP'] === '1'
const TESTS = isDeep ? /\.(test|deep)\.ts$/ : /\.test\.ts$/

const files = readdirSync('test', { recursive: true, encoding: 'utf8' })
  .filter(path => TESTS.test(path))
  .map(path => join('test', path))

export default defineConfig({
  resolve: { alias: [LOAD_CORE] },
  test: {
    // They only end what hangs: nothing may be red because this machine is busy.
    testTimeout: isDeep ? 1_200_000 : 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 45_000 } },
    setupFiles: ['test/support/each-file.ts'],
    globalSetup: ['test/support/build-once.ts', 'test/support/scratch-in-memory.ts'],
    // More than cores: tests with processes of their own wait for them most of the time.
    maxWorkers: 3,
    include: files,
    // A file finds loaded what those before it have loaded, which is half of what it costs, and leaves nothing else behind: it
    // replaces no module (`vi.mock`).
    isolate: false,
    // A module that has not changed is not compiled again by the next run, which is most of the main process's work.
    experimental: { fsModuleCache: true },
    // What is not ours is used as Node gives it: behind a proxy, each use of an imported name would cost more than the call.
    deps: { interopDefault: false },
  },
})
