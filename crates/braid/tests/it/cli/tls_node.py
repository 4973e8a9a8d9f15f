"""A node that knows its chain id and speaks TLS: `tls_node.py CERTIFICATE_AND_KEY` prints its port."""

import http.server
import json
import ssl
import sys


class Node(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        answers = [
            {"jsonrpc": "2.0", "id": call["id"], "result": "0x1"}
            for call in (asked if isinstance(asked, list) else [asked])
        ]
        body = json.dumps(answers if isinstance(asked, list) else answers[0]).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Server(http.server.ThreadingHTTPServer):
    # a client that does not trust the certificate ends the handshake
    def handle_error(self, *_):
        pass


server = Server(("127.0.0.1", 0), Node)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1])
server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
print(server.server_port, flush=True)
server.serve_forever()
