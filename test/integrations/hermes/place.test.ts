import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { SPOOL_LIMITS } from '../../../src/plugin/config/paths.ts'
import { EventSpool } from '../../../src/receiver/event-spool.ts'
import {
  type Address,
  createReceiverFolders,
  ensureToken,
  receiverFiles,
  writeAddress,
} from '../../../src/receiver/receiver-files.ts'
import { ReceiverCounts } from '../../../src/receiver/refusal.ts'
import { describePython, ShimScene } from './scene.ts'

/** Without the scene's own variable the home directory counts. */
const PLACES: readonly Readonly<Record<string, string>>[] = [
  { XDG_STATE_HOME: '' },
  { XDG_STATE_HOME: '  ' },
  { XDG_STATE_HOME: 'relative/state' },
  { XDG_STATE_HOME: ' /nowhere/state ' },
]

describePython('the place of the receiver, spelled in Python as in TypeScript', () => {
  test.each(PLACES)('finds the receiver for %j', async env => {
    const scene = new ShimScene()
    const { directory, spool } = receiverFiles(env, scene.home)
    const said = await scene.play('print(json.dumps([shim.receiver.PLACE, shim.receiver.SPOOL]))', { env })
    expect(JSON.parse(said)).toEqual([directory, spool])
  })

  test("reads the receiver's address file", async () => {
    const scene = new ShimScene()
    const place = receiverFiles({ XDG_STATE_HOME: `${scene.home}/state` }, scene.home)
    createReceiverFolders(place, () => undefined)
    const token = ensureToken(place, () => undefined)
    const address: Address = { pid: 1, startedAt: 2, version: '1.2.3', socket: null, port: 4, content_capture: 'full' }
    writeAddress(place, address)
    const said = await scene.play(`
read, place = shim.receiver.read, shim.receiver.PLACE
print(json.dumps([read(f"{place}/token"), json.loads(read(shim.receiver.ADDRESS))]))`)
    expect(JSON.parse(said)).toEqual([token, address])
  })

  test('leaves files for the receiver: an event, the dropped count, its start', async () => {
    const scene = new ShimScene()
    const place = receiverFiles({ XDG_STATE_HOME: `${scene.home}/state` }, scene.home)
    const limits = await scene.play(`
print(json.dumps({"files": shim.receiver.SPOOLED, "bytes": shim.receiver.SPOOLED_BYTES}))
fire("pre_tool_call", tool_name="terminal", args={}, session_id="s1")
drained()
shim.receiver.SPOOLED = 0
fire("post_tool_call", tool_name="terminal", result="ok", session_id="s1")
drained()
`)
    expect(JSON.parse(limits)).toEqual(SPOOL_LIMITS)
    const counts = new ReceiverCounts()
    const lines: string[] = []
    const say = (line: string) => void lines.push(line)
    const files = { directory: place.spool, maxBytes: SPOOL_LIMITS.bytes }
    const spool = new EventSpool({ ...files, counts, isEndpoint: path => path === '/v1/hooks', say, sayOnce: say })
    const hooks: string[] = []
    await spool.drain((_path, { body }) => void hooks.push((body as { hook: string }).hook))
    expect(hooks).toEqual(['pre_tool_call'])
    expect(counts).toMatchObject({ dropped: 1, refused: {} })
    expect(lines).toHaveLength(1)
    expect(existsSync(place.starting)).toBe(true)
  })
})
