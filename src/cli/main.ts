#!/usr/bin/env node
import { fileURLToPath } from 'node:url'

const [command, host = '', ...options] = process.argv.slice(2)

// Before anything else, whatever the arguments: the agent waits, and takes output or an exit code of 2 as a decision.
if (command === 'hook' && !/^(?:-h|--help)$/.test(host)) {
  const { forwardAndExit } = await import('../receiver/forwarder/forward.ts')
  await forwardAndExit(host, fileURLToPath(import.meta.url), options)
}

const [{ dispatch }, { processIo }] = await Promise.all([import('./dispatch.ts'), import('./process-io.ts')])
// Not process.exit, which would truncate pending output to a pipe.
const exitCode = await dispatch(process.argv.slice(2), processIo())
process.exitCode ||= exitCode
