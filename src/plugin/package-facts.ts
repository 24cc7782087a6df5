import { load } from '../delivery/load-package.ts'

type PackageFacts = Record<'name' | 'version', string> & { engines: { node: string }; repository: { url: string } }

const facts = load<PackageFacts>('../../package.json')

export const PACKAGE_NAME: string = facts.name
export const PACKAGE_VERSION: string = facts.version
export const NODE_RANGE: string = facts.engines.node
export const REPOSITORY_ADDRESS: string = facts.repository.url.replace(/^git\+|\.git$/g, '')
