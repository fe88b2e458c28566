// A host in JavaScript: starts the plugin, opens a core file and prints the
// crashed thread's stack.
// usage: node host.js SFCORE CORE PROGRAMS
'use strict'

const { spawn } = require('node:child_process')
const path = require('node:path')
const readline = require('node:readline')
const grpc = require('@grpc/grpc-js')
const loader = require('@grpc/proto-loader')

const [sfcore, core, programs] = process.argv.slice(2)

// handshake starts the plugin, and resolves to it and its gRPC address.
function handshake() {
  const plugin = spawn(sfcore, ['plugin', '--linger=5s'], {
    env: {
      ...process.env,
      SFCORE_PLUGIN: '5f7c6a1e0b5d4d0f9a3e8b1c72d9e6a4',
      PLUGIN_PROTOCOL_VERSIONS: '2',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return new Promise((resolve, reject) => {
    plugin.on('error', reject)
    plugin.on('exit', (code) => reject(new Error(`the plugin exited with status ${code}`)))
    readline.createInterface({ input: plugin.stdout }).once('line', (line) => {
      const [coreVersion, version, network, address, protocol] = line.split('|')
      if (coreVersion !== '1' || version !== '2' || protocol !== 'grpc') {
        reject(new Error(`unexpected handshake: ${line}`))
        return
      }
      resolve({ plugin, address: network === 'unix' ? `unix:${address}` : address })
    })
  })
}

// word returns the word of reports for a value: frame-pointer for METHOD_FRAME_POINTER.
function word(value, prefix) {
  return value.slice(prefix.length).toLowerCase().replaceAll('_', '-')
}

async function main() {
  const { plugin, address } = await handshake()
  try {
    const protocol = path.join(__dirname, '../../plugin/proto/v2')
    const definition = loader.loadSync('sfcore/plugin/v2/plugin.proto', { includeDirs: [protocol], longs: String, enums: String, defaults: true })
    const { PluginService } = grpc.loadPackageDefinition(definition).sfcore.plugin.v2
    const client = new PluginService(address, grpc.credentials.createInsecure())
    const session = await new Promise((resolve, reject) => {
      client.open({ core, paths: [programs] }, (err, reply) => (err ? reject(err) : resolve(reply.session)))
    })
    const stacks = client.stacks({ session })
    for await (const { thread, frames, stop } of stacks) {
      console.log(`thread ${thread.tid}${thread.crashed ? ' crashed' : ''}`)
      for (const f of frames) {
        console.log(`#${f.index} 0x${BigInt(f.pc).toString(16)} ${f.function} ${word(f.method, 'METHOD_')}`)
      }
      console.log(word(stop.reason, 'STOP_REASON_'))
    }
    grpc.Client.prototype.close.call(client) // client.close is PluginService's
  } finally {
    plugin.removeAllListeners('exit')
    plugin.kill('SIGTERM')
    await new Promise((resolve) => plugin.on('exit', resolve))
  }
}

main().catch((err) => {
  console.error(err)
  process.exitCode = 1
})
