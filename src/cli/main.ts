#!/usr/bin/env node
import { fileURLToPath } from 'node:url'

const [command, host = '', ...options] = process.argv.slice(2)

// An agent waits for it, and takes what it prints and an exit code of 2 for a decision: before all else, and whatever is given.
if (command === 'hook' && !/^(?:-h|--help)$/.test(host)) {
  const { forwardAndExit } = await import('../forwarder/forward.ts')
  await forwardAndExit(host, fileURLToPath(import.meta.url), options)
}

const [{ dispatch }, { processIo }] = await Promise.all([import('./dispatch.ts'), import('./process-io.ts')])
// Not process.exit: it would cut off what stdout, a pipe, has not taken yet.
const exitCode = await dispatch(process.argv.slice(2), processIo())
process.exitCode ||= exitCode
