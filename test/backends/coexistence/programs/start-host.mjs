import telemetry from './host-telemetry.cjs'

const host = telemetry.startHost()
if (JSON.parse(process.env.COEXISTENCE).stopsAtExit) process.once('beforeExit', () => host.stop())
