import { defineConfig } from 'vitest/config'

const RELIABILITY = 'test/reliability/**/*.test.ts'

export default defineConfig({
  test: {
    testTimeout: 20_000,
    hookTimeout: 60_000,
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
        test: { name: 'reliability', include: [RELIABILITY], maxWorkers: 1, sequence: { groupOrder: 1 } },
      },
    ],
  },
})
