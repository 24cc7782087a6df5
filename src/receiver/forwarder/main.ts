#!/usr/bin/env node
import { join } from 'node:path'
import { forwardAndExit } from './forward.ts'

// Published as the single file `dist/hook.cjs`: agents start it for each hook and wait for it, so no other module is loaded.
void forwardAndExit(process.argv[2], join(import.meta.dirname, 'cli', 'main.js'), process.argv.slice(3))
