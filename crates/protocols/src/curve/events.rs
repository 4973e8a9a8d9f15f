//! Events of all generations that change the output of swaps. The generations share event names, but not parameter
//! types.

use alloy_primitives::{B256, b256};

/// `topic0`, and the signature that it hashes.
const EVENTS: [(B256, &str); 42] = [
    (
        b256!("8b3e96f2b889fa771c53c981b40daf005f63f637f1869f707052d15a3dd97140"),
        "TokenExchange(address,int128,uint256,int128,uint256)",
    ),
    (
        b256!("d013ca23e77a65003c2c659c5442c00c805371b7fc1ebd4c206c41d1536bd90b"),
        "TokenExchangeUnderlying(address,int128,uint256,int128,uint256)",
    ),
    (
        b256!("b2e76ae99761dc136e598d4a629bb347eccb9532a5f8bbd72e18467c3c34cc98"),
        "TokenExchange(address,uint256,uint256,uint256,uint256)",
    ),
    (
        b256!("143f1f8e861fbdeddd5b46e844b7d3ac7b86a122f36e8c463859ee6811b1f29c"),
        "TokenExchange(address,uint256,uint256,uint256,uint256,uint256,uint256)",
    ),
    (
        b256!("26f55a85081d24974e85c6c00045d0f0453991e95873f52bff0d21af4079a768"),
        "AddLiquidity(address,uint256[2],uint256[2],uint256,uint256)",
    ),
    (
        b256!("7c363854ccf79623411f8995b362bce5eddff18c927edc6f5dbbb5e05819a82c"),
        "RemoveLiquidity(address,uint256[2],uint256[2],uint256)",
    ),
    (
        b256!("2b5508378d7e19e0d5fa338419034731416c4f5b219a10379956f764317fd47e"),
        "RemoveLiquidityImbalance(address,uint256[2],uint256[2],uint256,uint256)",
    ),
    (
        b256!("423f6495a08fc652425cf4ed0d1f9e37e571d9b9529b1c1c23cce780b2e7df0d"),
        "AddLiquidity(address,uint256[3],uint256[3],uint256,uint256)",
    ),
    (
        b256!("a49d4cf02656aebf8c771f5a8585638a2a15ee6c97cf7205d4208ed7c1df252d"),
        "RemoveLiquidity(address,uint256[3],uint256[3],uint256)",
    ),
    (
        b256!("173599dbf9c6ca6f7c3b590df07ae98a45d74ff54065505141e7de6c46a624c2"),
        "RemoveLiquidityImbalance(address,uint256[3],uint256[3],uint256,uint256)",
    ),
    (
        b256!("3f1915775e0c9a38a57a7bb7f1f9005f486fb904e1f84aa215364d567319a58d"),
        "AddLiquidity(address,uint256[4],uint256[4],uint256,uint256)",
    ),
    (
        b256!("9878ca375e106f2a43c3b599fc624568131c4c9a4ba66a14563715763be9d59d"),
        "RemoveLiquidity(address,uint256[4],uint256[4],uint256)",
    ),
    (
        b256!("b964b72f73f5ef5bf0fdc559b2fab9a7b12a39e47817a547f1f0aee47febd602"),
        "RemoveLiquidityImbalance(address,uint256[4],uint256[4],uint256,uint256)",
    ),
    (
        b256!("189c623b666b1b45b83d7178f39b8c087cb09774317ca2f53c2d3c3726f222a2"),
        "AddLiquidity(address,uint256[],uint256[],uint256,uint256)",
    ),
    (
        b256!("347ad828e58cbe534d8f6b67985d791360756b18f0d95fd9f197a66cc46480ea"),
        "RemoveLiquidity(address,uint256[],uint256[],uint256)",
    ),
    (
        b256!("3631c28b1f9dd213e0319fb167b554d76b6c283a41143eb400a0d1adb1af1755"),
        "RemoveLiquidityImbalance(address,uint256[],uint256[],uint256,uint256)",
    ),
    (
        b256!("22f9ea3e7d7b113cb423896d2e121f96a66c17814ac7f63d69096769fa3e2a55"),
        "RemoveLiquidityImbalance(address,uint256,uint256[2],uint256,uint256)",
    ),
    (
        b256!("540ab385f9b5d450a27404172caade516b3ba3f4be88239ac56a2ad1de2a1f5a"),
        "AddLiquidity(address,uint256[2],uint256,uint256)",
    ),
    (
        b256!("7196cbf63df1f2ec20638e683ebe51d18260be510592ee1e2efe3f3cfd4c33e9"),
        "AddLiquidity(address,uint256[2],uint256,uint256,uint256)",
    ),
    (
        b256!("dd3c0336a16f1b64f172b7bb0dad5b2b3c7c76f91e8c4aafd6aae60dce800153"),
        "RemoveLiquidity(address,uint256[2],uint256)",
    ),
    (
        b256!("96b486485420b963edd3fdec0b0195730035600feb7de6f544383d7950fa97ee"),
        "AddLiquidity(address,uint256[3],uint256,uint256)",
    ),
    (
        b256!("e1b60455bd9e33720b547f60e4e0cfbf1252d0f2ee0147d53029945f39fe3c1a"),
        "AddLiquidity(address,uint256[3],uint256,uint256,uint256)",
    ),
    (
        b256!("d6cc314a0b1e3b2579f8e64248e82434072e8271290eef8ad0886709304195f5"),
        "RemoveLiquidity(address,uint256[3],uint256)",
    ),
    (
        b256!("9e96dd3b997a2a257eec4df9bb6eaf626e206df5f543bd963682d143300be310"),
        "RemoveLiquidityOne(address,uint256,uint256)",
    ),
    (
        b256!("5ad056f2e28a8cec232015406b843668c1e36cda598127ec3b8c59b8c72773a0"),
        "RemoveLiquidityOne(address,uint256,uint256,uint256)",
    ),
    (
        b256!("6f48129db1f37ccb9cc5dd7e119cb32750cabdf75b48375d730d26ce3659bbe1"),
        "RemoveLiquidityOne(address,int128,uint256,uint256,uint256)",
    ),
    (
        b256!("e200e24d4a4c7cd367dd9befe394dc8a14e6d58c88ff5e2f512d65a9e0aa9c5c"),
        "RemoveLiquidityOne(address,uint256,uint256,uint256,uint256,uint256)",
    ),
    (
        b256!("a2b71ec6df949300b59aab36b55e189697b750119dd349fcfa8c0f779e83c254"),
        "RampA(uint256,uint256,uint256,uint256)",
    ),
    (b256!("46e22fb3709ad289f62ce63d469248536dbc78d82b84a3d7e74ad606dc201938"), "StopRampA(uint256,uint256)"),
    (b256!("a8715770654f54603947addf38c689adbd7182e21673b28bcf306a957aaba215"), "ApplyNewFee(uint256)"),
    (b256!("750d10a7f37466ce785ee6bcb604aac543358db42afbcc332a3c12a49c80bf6d"), "ApplyNewFee(uint256,uint256)"),
    (b256!("be12859b636aed607d5230b2cc2711f68d70e51060e6cca1f575ef5d2fcc95d1"), "NewFee(uint256,uint256)"),
    (b256!("cfca96e0fef3432146913b2a5a2268a55d3f475fe057e7ffde1082b77693f4f3"), "NewFee(uint256,uint256,uint256)"),
    (b256!("63fe946ed58429ac3c5e64d4356ff92c26d7fa1e73586515df8ba9f059ab54a5"), "NewFee(uint256)"),
    (
        b256!("752a27d1853eb7af3ee4ff764f2c4a51619386af721573dd3809e929c39db99e"),
        "NewParameters(uint256,uint256,uint256)",
    ),
    (
        b256!("e35f0559b0642164e286b30df2077ec3a05426617a25db7578fd20ba39a6cd05"),
        "RampAgamma(uint256,uint256,uint256,uint256,uint256,uint256)",
    ),
    (b256!("5f0e7fba3d100c9e19446e1c92fe436f0a9a22fe99669360e4fdd6d3de2fc284"), "StopRampA(uint256,uint256,uint256)"),
    (
        b256!("a32137411fc7c20db359079cd84af0e2cad58cd7a182a8a5e23e08e554e88bf0"),
        "NewParameters(uint256,uint256,uint256,uint256,uint256,uint256)",
    ),
    (
        b256!("1c65bbdc939f346e5d6f0bde1f072819947438d4fc7b182cc59c2f6dc5504087"),
        "NewParameters(uint256,uint256,uint256,uint256,uint256,uint256,uint256)",
    ),
    (b256!("6059a38198b1dc42b3791087d1ff0fbd72b3179553c25f678cd246f52ffaaf59"), "ClaimAdminFee(address,uint256)"),
    (b256!("3bbd5f2f4711532d6e9ee88dfdf2f1468e9a4c3ae5e14d2e1a67bf4242d008d0"), "ClaimAdminFee(address,uint256[2])"),
    (b256!("5ebe66c628d0969a211b99673a322baa5fc8a62baf286c175e254daef76f5bcc"), "ClaimAdminFee(address,uint256[3])"),
];

/// The topics alone.
pub(super) const TOPICS: &[B256] = &{
    let mut topics = [B256::ZERO; EVENTS.len()];
    let mut k = 0;
    while k < EVENTS.len() {
        topics[k] = EVENTS[k].0;
        k += 1;
    }
    topics
};

#[cfg(test)]
mod tests {
    use alloy_primitives::keccak256;

    use super::EVENTS;

    #[test]
    fn every_topic_is_the_hash_of_its_signature() {
        for (topic, signature) in EVENTS {
            assert_eq!(topic, keccak256(signature), "{signature}");
        }
    }

    /// What the sources of accepted pools emit when balances, fees or parameters change. A withdrawal in one coin from a
    /// Twocrypto pool on StableSwap maths, and a fee change of a factory pool with a price oracle, have events that no
    /// other generation has.
    #[test]
    fn events_that_one_generation_alone_emits_are_followed() {
        let emitted = [
            ("StableSwap of 2020", "NewParameters(uint256,uint256,uint256)"),
            ("lending pools", "NewFee(uint256,uint256,uint256)"),
            ("factory pools with a price oracle", "ApplyNewFee(uint256)"),
            ("CryptoSwap", "ClaimAdminFee(address,uint256)"),
            ("Twocrypto-NG", "ClaimAdminFee(address,uint256[2])"),
            ("Tricrypto-NG", "ClaimAdminFee(address,uint256[3])"),
            ("Twocrypto v2.1.0d", "RemoveLiquidityImbalance(address,uint256,uint256[2],uint256,uint256)"),
        ];
        for (generation, signature) in emitted {
            assert!(super::TOPICS.contains(&keccak256(signature)), "{generation}: {signature}");
        }
    }
}
