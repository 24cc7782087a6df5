import type { Report } from '../core/guard.ts'
import type { Plugin } from './plugin.ts'

/** What `register` has to know of a plugin, and its host has not. */
export interface Life {
  readonly report: Report
  /** It was shut down, by whomever: it takes nothing more. */
  isOver: boolean
}

const lives = new WeakMap<Plugin, Life>()

export function withLife(plugin: Plugin, life: Life): Plugin {
  lives.set(plugin, life)
  return plugin
}

export function lifeOf(plugin: Plugin): Life | undefined {
  return lives.get(plugin)
}
