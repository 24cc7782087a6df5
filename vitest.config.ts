import { defineConfig } from 'vitest/config'

const RELIABILITY = 'test/reliability/**/*.test.ts'

export default defineConfig({
  test: {
    // They only end what hangs: nothing may be red because this machine is busy.
    testTimeout: 60_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 45_000 } },
    globalSetup: ['test/support/build-once.ts'],
    projects: [
      {
        extends: true,
        test: {
          name: 'units',
          include: ['test/**/*.test.ts'],
          exclude: [RELIABILITY],
          // By default one core of two is left idle.
          maxWorkers: 2,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        // Each of these runs several processes, and measures when things happen: nothing else may run beside them.
        test: {
          name: 'reliability',
          include: [RELIABILITY],
          maxWorkers: 1,
          testTimeout: 120_000,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})
