// A receiver in a process of its own, of whatever version. Writes a line when it listens, and ends when it has ended.
const { env, home, version } = JSON.parse(process.argv[2])

const { RECEIVER_ENDPOINTS } = await import('../../build/agents/receiver-endpoints.js')
const { openRecorder } = await import('../../build/receiver/recorder.js')
const { startReceiver } = await import('../../build/receiver/start.js')

const say = line => process.stderr.write(`${line}\n`)
const { receiver } = await startReceiver({ env, home, version, endpoints: RECEIVER_ENDPOINTS, openRecorder, say })
process.once('SIGTERM', () => receiver.stop())
process.stdout.write('listens\n')
await receiver.closed
