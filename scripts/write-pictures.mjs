/**
 * Takes the pictures of the documentation anew, in real servers, by the commands that README.md names:
 *
 *     npm run pictures             all of them
 *     npm run pictures -- readme   one row of the table
 *
 * Each is a test of `npm run test:backends` that waits for what is to be seen, and fails without it; so nothing is
 * written that does not show it. README.md's servers listen where a person's own would, and these have to be ended first.
 * The tree of README.md, docs/images/trace-tree.svg, is made from the code: `npm run docs`.
 */
import { spawnSync } from 'node:child_process'
import { argv } from 'node:process'
import { fileURLToPath, pathToFileURL } from 'node:url'

/** Suite of `scripts/backend-servers.mjs` → the pictures that its tests of pages take, in `docs/images/`. */
export const PICTURES = {
  readme: ['jaeger-trace.png', 'phoenix-trace.png', 'phoenix-session.png'],
  view: ['view-session.png', 'view-turn.png', 'view-usage.png'],
  'prometheus-page': ['metrics-tokens.png', 'metrics-tools.png', 'metrics-alert.png'],
}

if (argv[1] && import.meta.url === pathToFileURL(argv[1]).href) process.exitCode = main(argv.slice(2))

function main(words) {
  const unknown = words.find(word => !Object.hasOwn(PICTURES, word))
  if (unknown !== undefined) {
    console.error(`no pictures are taken by ${unknown}: ${Object.keys(PICTURES).join(', ')}`)
    return 2
  }
  const env = { ...process.env, HOOKSPAN_UPDATE_PICTURES: '1' }
  const chosen = words.length === 0 ? Object.keys(PICTURES) : words
  const taken = chosen.map(suite => {
    const script = fileURLToPath(new URL('test-backends.mjs', import.meta.url))
    return spawnSync(process.execPath, [script, suite], { env, stdio: 'inherit' }).status
  })
  return taken.every(status => status === 0) ? 0 : 1
}
