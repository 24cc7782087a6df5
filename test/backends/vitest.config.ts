import { fileURLToPath } from 'node:url'
import { defineConfig, type ViteUserConfig } from 'vitest/config'
import { LOAD_CORE } from '../support/load-core-alias.ts'

/** For `scripts/test-backends.mjs`, which has installed the servers and built the package. */
const config: ViteUserConfig = defineConfig({
  root: fileURLToPath(new URL('../..', import.meta.url)),
  resolve: { alias: [LOAD_CORE] },
  test: {
    include: ['test/backends/**/*.backend.ts'],
    // Each starts servers of its own, on ports of its own, and waits for them for half of its time.
    maxWorkers: 2,
    // Servers have races of their own, which a busy machine brings out: the report says what was tried again.
    retry: 1,
    testTimeout: 180_000,
    hookTimeout: 180_000,
  },
})

export default config
