/**
 * The way of one warm `post_tool_call` through the code, by V8's coverage of `build`: the functions and files that run until the
 * span ends, and those that bring it into the trace log and to a backend.
 *
 *     npm run build && node scripts/hook-path.mjs            counts
 *     npm run build && node scripts/hook-path.mjs --list     and each file with its functions
 *     … --protocol http/json                                 to a backend that gets the lines of the log as they are
 */
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { Session } from 'node:inspector/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const BUILD = fileURLToPath(new URL('../build/', import.meta.url))
const WARM_TURNS = 200
const { values } = parseArgs({
  options: { list: { type: 'boolean' }, protocol: { type: 'string', default: 'http/protobuf' } },
})
const USAGE = { input_tokens: 10, output_tokens: 5 }

const home = mkdtempSync(join(tmpdir(), 'hookspan-hook-path-'))
for (const name of ['XDG_STATE_HOME', 'XDG_CONFIG_HOME', 'HOME']) process.env[name] = home
const server = createServer((request, response) => request.resume().on('end', () => response.end('{}')))
server.listen(0, '127.0.0.1')
await once(server, 'listening')

const { createPlugin } = await import(`${BUILD}index.js`)
const endpoint = `http://127.0.0.1:${server.address().port}`
const plugin = createPlugin({
  host: 'own',
  backends: [{ type: 'otlp', endpoint, metrics: false, protocol: values.protocol }],
})

function begin(turn) {
  const ids = { session_id: 's', turn_id: `t${turn}` }
  plugin.emit('pre_llm_call', { ...ids, model: 'm', user_message: 'Look at the test.' })
  plugin.emit('pre_api_request', { ...ids, api_request_id: `r${turn}`, model: 'm' })
  plugin.emit('post_api_request', { ...ids, api_request_id: `r${turn}`, model: 'm', usage: USAGE })
  plugin.emit('pre_tool_call', { ...ids, tool_name: 'bash', tool_call_id: `c${turn}`, args: { command: 'ls' } })
}

const endTool = turn =>
  plugin.emit('post_tool_call', {
    session_id: 's',
    turn_id: `t${turn}`,
    tool_name: 'bash',
    tool_call_id: `c${turn}`,
    result: 'ok',
    status: 'ok',
  })

async function end(turn) {
  plugin.emit('post_llm_call', { session_id: 's', turn_id: `t${turn}`, assistant_response: 'Done.' })
  await plugin.emit('on_session_end', { session_id: 's', turn_id: `t${turn}`, completed: true })
}

for (let turn = 0; turn < WARM_TURNS; turn++) {
  begin(turn)
  endTool(turn)
  await end(turn)
}
begin(WARM_TURNS)
await plugin.flush()
await pause(300)

const session = new Session()
session.connect()
await session.post('Profiler.enable')
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
await session.post('Profiler.takePreciseCoverage') // resets the counts
endTool(WARM_TURNS)
await pause(300)
const { result: untilEnd } = await session.post('Profiler.takePreciseCoverage')
await plugin.flush()
const { result: untilSent } = await session.post('Profiler.takePreciseCoverage')
session.disconnect()

const DELIVERY = /^delivery\//
const filesIn = result =>
  result
    .filter(({ url }) => url.startsWith('file:') && fileURLToPath(url).startsWith(BUILD))
    .map(({ url, functions }) => ({
      file: relative(BUILD, fileURLToPath(url)).replace(/\.js$/, '.ts'),
      // The function without a name that spans the file is the module itself.
      functions: functions.filter(({ ranges: [range] }) => range.count > 0 && range.startOffset > 0),
    }))
    .filter(({ functions }) => functions.length > 0)

/** A file of both takes is counted once, with the functions of either. */
function merged(files) {
  const byFile = new Map()
  for (const { file, functions } of files) {
    const known = byFile.get(file) ?? new Map()
    byFile.set(file, known)
    for (const each of functions) known.set(each.ranges[0].startOffset, each)
  }
  return [...byFile].map(([file, functions]) => ({ file, functions: [...functions.values()] }))
}

const stretches = {
  'until the span ends': filesIn(untilEnd).filter(({ file }) => !DELIVERY.test(file)),
  'to the log and to the wire': merged([...filesIn(untilEnd), ...filesIn(untilSent)]).filter(({ file }) =>
    DELIVERY.test(file),
  ),
}
for (const [stretch, its] of Object.entries(stretches)) {
  const count = its.reduce((sum, { functions }) => sum + functions.length, 0)
  console.log(`${stretch}: ${count} functions in ${its.length} files`)
  if (!values.list) continue
  for (const { file, functions } of its) {
    console.log(
      `  ${file}: ${functions.map(({ functionName, ranges }) => `${functionName || '(arrow)'}×${ranges[0].count}`).join(' ')}`,
    )
  }
}

await plugin.shutdown()
server.close()
rmSync(home, { recursive: true, force: true })
