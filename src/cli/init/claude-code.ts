import { claudeSettings } from './claude-settings.ts'
import { hookAgent } from './hook-agent.ts'
import type { HostSetup } from './plan.ts'

export const claudeCode: HostSetup = hookAgent({
  settings: claudeSettings,
  folder: '.claude',
  variable: 'CLAUDE_CONFIG_DIR',
  isByHttp: true,
})
