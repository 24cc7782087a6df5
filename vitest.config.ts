import { defineConfig } from 'vitest/config'

const isDeep = process.env['HOOKSPAN_TEST_DEEP'] === '1'
const FILES = isDeep ? '*.{test,deep}.ts' : '*.test.ts'

/** Rooms whose tests leave nothing behind in their process: the next file finds what they have loaded. */
const PURE = `test/{content,conventions,core,traces,viewer}/**/${FILES}`

export default defineConfig({
  test: {
    // They only end what hangs: nothing may be red because this machine is busy.
    testTimeout: isDeep ? 7_200_000 : 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 45_000 } },
    globalSetup: ['test/support/build-once.ts'],
    // More than cores: tests with processes of their own wait for them most of the time.
    maxWorkers: 3,
    projects: [
      { extends: true, test: { name: 'pure', include: [PURE], isolate: false } },
      { extends: true, test: { name: 'units', include: [`test/**/${FILES}`], exclude: [PURE] } },
    ],
  },
})
