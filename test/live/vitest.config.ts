import { fileURLToPath } from 'node:url'
import { defineConfig, type ViteUserConfig } from 'vitest/config'
import { LOAD_CORE } from '../support/load-core-alias.ts'

/** For `scripts/test-live.mjs`, which has built the package and installed the host. */
const config: ViteUserConfig = defineConfig({
  root: fileURLToPath(new URL('../..', import.meta.url)),
  resolve: { alias: [LOAD_CORE] },
  test: {
    // A snapshot without its test's name is missing, and is not written unless asked by `-u`: CI would fail on it.
    update: 'none',
    include: ['test/live/**/*.live.ts'],
    // Each test runs programs that want a whole processor, and another host is tested at the same time.
    maxWorkers: 1,
    fileParallelism: false,
    // Hosts have races of their own, which a busy machine brings out: the report says what was tried again.
    retry: 1,
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
})

export default config
