import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createPluginIn } from '../../src/plugin/create-plugin.ts'
import type { Plugin, PluginOptions } from '../../src/plugin/plugin.ts'
import { afterwards } from '../support/afterwards.ts'

/** A home directory of its own, gone after the test. */
export function scratchHome(): string {
  const home = mkdtempSync(join(tmpdir(), 'hookspan-wiring-'))
  afterwards(() => rmSync(home, { recursive: true, force: true }))
  return home
}

/** Every file below a directory. */
export function filesBelow(directory: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true }).flatMap(entry =>
    entry.isFile() ? [entry.name] : [],
  )
}

/** Shut down after the test, if it does not do so itself. */
export function ending<Some extends Plugin>(plugin: Some): Some {
  afterwards(() => plugin.shutdown())
  return plugin
}

export interface ScratchPlugin {
  readonly plugin: Plugin
  /** Lines that a person would have read. */
  readonly lines: string[]
  readonly home: string
}

/** A plugin as a host has it, in a home of its own. */
export function scratchPlugin(options: PluginOptions = {}, home: string = scratchHome()): ScratchPlugin {
  const lines: string[] = []
  const add = (line: string): void => void lines.push(line)
  const diagnostics = { warn: add, error: add, debug: () => undefined }
  const plugin = createPluginIn(options, { env: {}, home, isReplay: false, diagnostics })
  return { plugin: ending(plugin), lines, home }
}

/** A short turn, as a host tells it. */
export function tellTurn(plugin: Plugin, session_id = 's1'): Promise<void> | undefined {
  const ids = { session_id, turn_id: `${session_id}.t1` }
  plugin.on('pre_llm_call', { ...ids, model: 'qwen3', user_message: 'hello' })
  plugin.on('pre_tool_call', { ...ids, tool_name: 'terminal', tool_call_id: 'c1' })
  plugin.on('post_tool_call', { ...ids, tool_name: 'terminal', tool_call_id: 'c1', status: 'ok' })
  plugin.on('post_llm_call', ids)
  return plugin.on('on_session_end', { ...ids, completed: true })
}
