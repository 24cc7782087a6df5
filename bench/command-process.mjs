// A command of hookspan as published, in its own process, which reports its CPU time and memory on request.
import { PUBLISHED } from './build.mjs'

process.argv.splice(2, process.argv.length, ...JSON.parse(process.argv[2]))
process.on('message', () => {
  const { user, system } = process.cpuUsage()
  const peakBytes = process.resourceUsage().maxRSS * 1024
  process.send({ cpuMillis: (user + system) / 1000, bytes: process.memoryUsage.rss(), peakBytes })
})
process.on('disconnect', () => process.exit())
process.channel.unref()
await import(new URL('cli/main.js', PUBLISHED).href)
