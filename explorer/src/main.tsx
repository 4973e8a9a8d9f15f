import { render } from "preact";
import { App } from "./app";
import { readLink } from "./form/link";
import { follow } from "./service";
import { discover } from "./wallet/discovery";
import "./style.css";

discover();
follow();
const asked = location.hash;
// the form is drawn at once; a link that names tokens fills it as soon as they are known
render(<App />, document.getElementById("app")!);
void readLink(asked);
// a link that is opened while the page is; what the page itself writes there raises no event
addEventListener("hashchange", () => void readLink(location.hash));
