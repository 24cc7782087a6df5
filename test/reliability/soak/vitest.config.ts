import { defineConfig } from 'vitest/config'

/** Long runs, apart from the tests: `npm run soak`. Whoever runs them has built before. */
export default defineConfig({
  test: {
    include: ['test/reliability/soak/*.soak.ts'],
    testTimeout: 345_000,
    pool: 'forks',
    maxWorkers: 3,
    reporters: ['dot'],
    silent: true,
  },
})
