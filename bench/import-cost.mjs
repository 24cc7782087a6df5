import { execFileSync } from 'node:child_process'
import { PUBLISHED } from './build.mjs'
import { median } from './figures.mjs'

const RUNS = 15
const OURS = new URL('index.js', PUBLISHED).href

function millisOf(code) {
  const script = `const started = performance.now(); ${code}; process.stdout.write(String(performance.now() - started))`
  return Number(
    execFileSync(process.execPath, ['--input-type=module', '-e', script], {
      cwd: new URL('..', import.meta.url),
      encoding: 'utf8',
    }),
  )
}

/** Fresh processes, in turn, so that the machine's moods meet both. */
export function importCost() {
  const bare = []
  const ours = []
  for (let run = -1; run < RUNS; run++) {
    const figures = [
      millisOf(`await import('@opentelemetry/sdk-trace-base'); await import('@opentelemetry/sdk-metrics')`),
      millisOf(`await import('${OURS}')`),
    ]
    if (run < 0) continue
    bare.push(figures[0])
    ours.push(figures[1])
  }
  const loaded = execFileSync(
    process.execPath,
    [
      '--input-type=module',
      '-e',
      `await import('${OURS}'); const { createRequire } = await import('node:module'); process.stdout.write(Object.keys(createRequire('${OURS}').cache).filter(path => /exporter|sdk-/.test(path)).length + '')`,
    ],
    { encoding: 'utf8' },
  )
  return {
    bareMillis: median(bare),
    oursMillis: median(ours),
    ratio: median(ours) / median(bare),
    exportersLoaded: Number(loaded),
  }
}
