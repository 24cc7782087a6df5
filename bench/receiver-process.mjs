// The receiver as it is published, in a process of its own, which says what it takes of the machine when it is asked.
import { PUBLISHED } from './build.mjs'

process.argv.splice(2, process.argv.length, 'serve', '--port', '0')
process.on('message', () => {
  const { user, system } = process.cpuUsage()
  process.send({ cpuMillis: (user + system) / 1000, bytes: process.memoryUsage.rss() })
})
process.on('disconnect', () => process.exit())
await import(new URL('cli/main.js', PUBLISHED).href)
